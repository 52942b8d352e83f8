# What a person does on a mounted share: `bash day.sh FUNCTION DIR KIND`, where DIR is a folder that nothing else uses, and KIND says by
# which protocol it is mounted, `nfs` or `smb`.

set -ex
cd /tmp
export HOME=/tmp LANG=C.UTF-8
"$@"
