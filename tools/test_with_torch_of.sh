#!/usr/bin/env bash
# Runs what the tests do with a real PyTorch inside another release of Debian, with that release's
# torch and Python: build/roots/SUITE, made once by debootstrap. As root; of this machine it has the
# checkout (with the program that was built) and the network, no more.
#
#     tools/test_with_torch_of.sh trixie     # torch 2.6 of Debian 13
set -euo pipefail

suite=${1:?a release of Debian: bookworm, trixie, forky, sid}
checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
root=$checkout/build/roots/$suite
# Where apt gets Debian from here, unless BERTH_DEBIAN_MIRROR says otherwise.
mirror=${BERTH_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
  sed -n 's/^Debian //p' | grep -v security | head -1)}
tests=(tests/e2e/test_recipes.py tests/e2e/test_example.py tests/e2e/test_doctor.py)

if [[ ! -d $root ]]; then
  [[ -n $mirror ]] || { echo "apt knows no mirror of Debian here: name one in BERTH_DEBIAN_MIRROR" >&2; exit 1; }
  rm -rf "$root.new"
  mkdir -p "$root.new"
  # Releases newer than debootstrap are made as sid is.
  script=/usr/share/debootstrap/scripts/$suite
  [[ -e $script ]] || script=/usr/share/debootstrap/scripts/sid
  debootstrap --variant=minbase \
    --include=python3-torch,python3-numpy,python3-pytest,g++,procps,iproute2,git \
    "$suite" "$root.new" "$mirror" "$script" >"$root.log" 2>&1 ||
    { tail -3 "$root.log" >&2; echo "the whole of it: $root.log" >&2; exit 1; }
  umount "$root.new/proc" 2>/dev/null || true
  mv "$root.new" "$root"
fi

# Its own mounts, gone with the last of its processes.
exec unshare --mount --pid --fork --kill-child bash -euc '
  root=$1 checkout=$2
  shift 2
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir -p "$root$checkout"
  mount --bind "$checkout" "$root$checkout"
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
    BERTH="$checkout/build/release/berth" BERTH_BUILD="$checkout/build/release" \
    chroot "$root" bash -euc '\''
      cd -- "$1"
      shift
      python3 -c "import sys, torch; print(\"torch\", torch.__version__, \"of python\", sys.version.split()[0])"
      exec python3 -m pytest -q -p no:cacheprovider "$@"
    '\'' inside "$checkout" "$@"
' outside "$root" "$checkout" "${tests[@]}"
