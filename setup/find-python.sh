#!/bin/sh
# Prints the Python for the virtual environment: 3.11, 3.12 or 3.13 (TensorFlow has no package for newer
# ones), with the modules venv and ensurepip. One line on stderr and status 1 if the machine has none.
seen=""
for name in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    command -v "$name" >/dev/null 2>&1 || continue
    version=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    case "$version" in
        3.11 | 3.12 | 3.13) ;;
        *) seen="$seen $name is $version;"; continue ;;
    esac
    if ! "$name" -c 'import venv, ensurepip' 2>/dev/null; then
        seen="$seen $name has no venv module (Debian, Ubuntu: apt-get install python$version-venv);"
        continue
    fi
    echo "$name"
    exit 0
done
echo "set-up: Python 3.11, 3.12 or 3.13 is needed, with its venv module; found:${seen:- none}" >&2
exit 1
