"""Random operations by clients of all protocols at two servers, and the model of crates/fuzzed/tests/one_tree that says what they
must be answered."""

import os
import subprocess
import sys

NAME = "random_operations_are_answered_as_the_model_says"
SEED = 60  # seconds, at most, for each


def check(options, gateways):
    servers = ",".join(f"127.0.0.1:{gateway.smb_port}:{gateway.afp_port}:{gateway.nfs_port}" for gateway in gateways[:2])
    env = {**os.environ, "FOURFOLD_MODEL_SERVERS": servers, "FOURFOLD_MODEL_SHARE": "model",
           "FOURFOLD_MODEL_USER": f"{options.user}:{options.password}:{options.uid}", "FOURFOLD_MODEL_SEEDS": str(options.seeds)}
    env.setdefault("FOURFOLD_MODEL_OPERATIONS", "300")
    if options.ceph:
        env["FOURFOLD_MODEL_LACKS"] = "exchange"  # a client of CephFS cannot exchange two names
    words = [options.model, "--nocapture", "--exact", "every_server_answers_as_the_model_says"]
    log = os.path.join(options.folder, "model.log")
    with open(log, "w") as file:
        limit = 60 + SEED * options.seeds
        code = subprocess.run(words, env=env, stdout=file, stderr=subprocess.STDOUT, timeout=limit).returncode
    with open(log) as file:
        text = file.read()
    said = [line for line in text.splitlines() if "operations applied" in line]
    print("the model:", *said, file=sys.stderr, flush=True)
    if code or not said:
        failed = [line for line in text.splitlines() if line.startswith("seed ")]
        raise AssertionError("; ".join(failed) or text[-3000:])
