"""Connections to etcd over TLS: which certificates are refused, and what an administrator reads then."""

import os

STATUS = ("cluster", "status")


def says(gateway, command, changes, code, part):
    """The command, with these lines instead of those of the server's settings, ends with this exit code and prints this."""
    with open(gateway.settings) as file:
        text = file.read()
    for before, after in changes.items():
        if before not in text:
            raise AssertionError(f"the settings have no {before!r}")
        text = text.replace(before, after, 1)
    changed = os.path.join(gateway.folder, "changed.toml")
    with open(changed, "w") as file:
        file.write(text)
    found, said = gateway.say(*command, settings=changed)
    if found != code or part not in said:
        raise AssertionError(f"{' '.join(command)} with {changes}: exit code {found}, {said.strip()!r}; not {code}, {part!r}")


def check(gateway, certificates):
    certificates.make_foreign("foreign")
    certificates.make("other")
    status, check, doctor = STATUS, ("check",), ("doctor", "--all")
    own = f'cluster-certificate = "{gateway.name}.pem"'
    etcd = f'{own}\ncluster-etcd-certificate = "{{0}}.pem"\ncluster-etcd-key = "{{1}}.key"'
    address = "etcds://127.0.0.1"
    says(gateway, status, {}, 0, "member")
    says(gateway, check, {}, 0, "accepted")
    says(gateway, doctor, {}, 0, "etcd answers; members are gate")
    says(gateway, status, {address: "https://127.0.0.1"}, 0, "member")  # as etcdctl has it
    says(gateway, status, {own: etcd.format("other", "other")}, 0, "member")
    says(gateway, status, {own: f'{own}\ncluster-etcd-ca = "foreign.pem"'}, 1, "an issuer that this server does not trust")
    says(gateway, doctor, {own: f'{own}\ncluster-etcd-ca = "foreign.pem"'}, 1, "an issuer that this server does not trust")
    says(gateway, status, {own: etcd.format("foreign", "foreign")}, 1, "does not accept the certificate of this server")
    says(gateway, status, {address: "etcds://127.0.1.77"}, 1, "127.0.1.77")
    says(gateway, status, {address: "etcd://127.0.0.1"}, 1, "if it wants TLS, write `etcds://`")
    says(gateway, check, {own: etcd.format("other", "foreign")}, 2, "it cannot be used with")
    says(gateway, check, {own: f'{own}\ncluster-etcd-ca = "foreign.key"'}, 2, "there is no certificate in it")
    says(gateway, check, {own: 'cluster-certificate = "other.pem"'}, 2, f"not for the name {gateway.name}")
    says(gateway, check, {address: "etcd://127.0.0.1", own: f'{own}\ncluster-etcd-ca = "ca.pem"'}, 2, "`cluster` is without TLS")
    says(gateway, check, {own: f'{own}\ncluster-etcd-key = "other.key"'}, 2, "`cluster-etcd-certificate` is not")
    says(gateway, check, {own: f'{own}\ncluster-etcd-credentials = "no.such"'}, 2, "cannot be read")
    says(gateway, status, {own: f'{own}\ncluster-etcd-credentials = "changed.toml"'}, 1, "has no line `username=NAME`")
