#!/bin/sh
# Installs berth from the folder of a release, without root and without network.
#   ./install.sh                  into ~/.local
#   PREFIX=/opt/berth ./install.sh
#   ./install.sh --uninstall      removes what it installed; runs go on
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${PREFIX:-${HOME:?set HOME or PREFIX}/.local}
case $prefix in /*) ;; *) echo "install.sh: PREFIX has to be an absolute path, not $prefix" >&2 && exit 2 ;; esac
list=$here/SHA256SUMS

each() { # each COMMAND: calls it with each file of the release below its folders
  while read -r _ file; do
    case $file in */*) "$1" "$file" ;; esac
  done <"$list"
}
put() {
  mkdir -p "$prefix/${1%/*}"
  # A running program's file cannot be written over; another one can take its place.
  cp -p "$here/$1" "$prefix/$1.new.$$" && mv -f "$prefix/$1.new.$$" "$prefix/$1"
}
drop() {
  rm -f "$prefix/$1"
  folder=${1%/*}
  while rmdir "$prefix/$folder" 2>/dev/null; do
    case $folder in */*) folder=${folder%/*} ;; *) break ;; esac
  done
}

case ${1-} in
  '') ;;
  --uninstall) each drop && echo "berth is removed from $prefix; runs that are going on go on" && exit ;;
  *) sed -n '2,5s/^# *//p' "$0" && exit 2 ;;
esac
(cd "$here" && sha256sum --check --quiet SHA256SUMS) || {
  echo "install.sh: the files are not what was released: unpack the archive again" >&2
  exit 1
}
"$here/bin/berth" --version >/dev/null || {
  echo "install.sh: $here/bin/berth does not run here: it needs Linux on $(sed -n 's/^machine //p' "$here/RELEASE") with glibc 2.35 or newer" >&2
  exit 1
}
each put
echo "installed $("$prefix/bin/berth" --version) into $prefix"
case :${PATH-}: in
  *:"$prefix/bin":*) echo "try: berth demo" ;;
  *) echo "its folder is not on your PATH yet: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
