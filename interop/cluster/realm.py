"""A realm of MIT's KDC, which is started here: an account of a machine, and the keys of a server."""

import os
import subprocess
import time

from scene import free_port

NAME = "LAB.TEST"
MACHINE = ("client$", "secret of the machine")
CLIENT = """[libdefaults]
 default_realm = {name}
 dns_lookup_kdc = false
 rdns = false
 dns_canonicalize_hostname = false
[realms]
 {name} = {{
  kdc = 127.0.0.1:{port}
 }}
"""
SERVER = """[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {name} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }}
"""


class Realm:
    def __init__(self, folder, log, services, keytab):
        os.mkdir(folder)
        port, self.log = free_port(), log
        conf, kdc = os.path.join(folder, "krb5.conf"), os.path.join(folder, "kdc.conf")
        for path, text in ((conf, CLIENT), (kdc, SERVER)):
            with open(path, "w") as file:
                file.write(text.format(name=NAME, port=port, folder=folder))
        self.environment = {**os.environ, "KRB5_CONFIG": conf, "KRB5_KDC_PROFILE": kdc}
        self._run("kdb5_util", "create", "-s", "-r", NAME, "-P", "master")
        self._kadmin(f'add_principal -pw "{MACHINE[1]}" {MACHINE[0]}')
        for service in services:
            self._kadmin(f"add_principal -randkey {service}")
            self._kadmin(f"ktadd -k {keytab} -norandkey {service}")
        self.process = subprocess.Popen(["krb5kdc", "-n", "-r", NAME], env=self.environment, stdout=log, stderr=log)
        time.sleep(0.5)

    def _run(self, *words):
        subprocess.run(words, env=self.environment, check=True, stdout=self.log, stderr=self.log)

    def _kadmin(self, query):
        self._run("kadmin.local", "-r", NAME, "-q", query)

    def kill(self):
        self.process.kill()
        self.process.wait()
