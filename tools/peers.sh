# What tests and benches are held against, and releases built with: Debian's and others' programs and libraries,
# unpacked below build/peers and never installed. ./dev reads this.

# As want(), but unpacked into build/peers and never installed.
want_peers() {
  command -v dpkg-deb >/dev/null || return 0
  local package
  for package in "$@"; do
    command -v "$package" >/dev/null && continue
    [[ -d build/peers/$package ]] && continue
    say "unpacking Debian's $package into build/peers"
    mkdir -p build/peers/.new
    (cd build/peers/.new && apt-get download -qq "$package" >&2 && dpkg-deb -x ./*.deb "../$package") ||
      say "going on without $package: what needs it will be skipped"
    rm -rf build/peers/.new
  done
}

# debian_apt 'RELEASE SECTION...'...: leaves in `apt` the words of an apt-get that knows these alone. Its lists lie
# below build/: nothing of the machine's changes. $arch: another architecture. 1: there is no mirror.
debian_apt() {
  local lists=$here/build/peers/.apt key=/usr/share/keyrings/debian-archive-keyring.gpg mirror release
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 2>/dev/null |
    awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
  [[ -n $mirror && -r $key ]] || return 1
  rm -rf "$lists"
  mkdir -p "$lists"/{state/lists/partial,cache/archives/partial}
  for release in "$@"; do
    printf 'deb [signed-by=%s] %s %s\n' "$key" "$mirror" "$release"
  done >"$lists/sources.list"
  apt=(apt-get -qq -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts=-
    -o Dir::State="$lists/state" -o Dir::Cache="$lists/cache" -o APT::Sandbox::User=root)
  if [[ -n ${arch-} ]]; then
    touch "$lists/status"
    apt+=(-o Dir::State::status="$lists/status" -o APT::Architecture="$arch" -o APT::Architectures::="$arch")
  fi
  "${apt[@]}" update </dev/null >&2 || true
}

# As want_peers(), from Debian's other releases and sections: NVIDIA's programs and drivers of several
# branches, an old C library, and pycuda with what it imports.
want_of_other_releases() {
  command -v dpkg-deb >/dev/null || return 0
  local one
  local -a missing=() apt
  for one in nvidia-smi-{535,550,555} libcuda1-{535,550} libc6-2.31 python3-{pycuda-2022,pytools-2022} \
    python3-{decorator-5,appdirs-1,platformdirs-2,typing-extensions-4} libboost-{python,thread}1.74.0-1.74; do
    [[ -d build/peers/$one ]] || missing+=("$one")
  done
  ((${#missing[@]})) || return 0
  say "unpacking Debian's ${missing[*]} into build/peers"
  debian_apt 'bookworm main contrib non-free' 'trixie non-free' 'experimental non-free' 'bullseye main' ||
    { say "no mirror of Debian here: skipped are the tests of ${missing[*]}" && return; }
  # All at once: apt reads its lists a second each time. What one mirror lacks keeps none from the others.
  local -a wanted=()
  for one in "${missing[@]}"; do wanted+=("${one%-*}=${one##*-}*"); done
  mkdir -p build/peers/.new
  (cd build/peers/.new && "${apt[@]}" download "${wanted[@]}" >&2 ||
    for one in "${wanted[@]}"; do "${apt[@]}" download "$one" >&2 || true; done)
  for one in "${missing[@]}"; do
    dpkg-deb -x build/peers/.new/"${one%-*}_${one##*-}"*.deb "build/peers/$one" ||
      say "going on without $one: its tests will be skipped"
  done
  rm -rf build/peers/.new
}

# Container engines, unpacked and never installed: they would start daemons, and tests that look at the
# machine would find them. This release's docker and podman, and trixie's docker, which knows CDI.
engine_packages=(podman conmon runc crun docker.io containerd tini busybox-static golang-github-containers-common
  golang-github-containers-image libgpgme11 libassuan0 libseccomp2 libdevmapper1.02.1 libyajl2 libsubid4
  libslirp0 libbtrfs0)
unpack_engines() {
  local folder=$1
  shift
  [[ -d build/peers/$folder ]] && return
  say "unpacking Debian's $folder into build/peers/$folder"
  rm -rf build/peers/.new
  mkdir -p "build/peers/.new/$folder"
  (cd build/peers/.new && "$@" >&2 && for deb in *.deb; do dpkg-deb -x "$deb" "$folder"; done) &&
    mv "build/peers/.new/$folder" "build/peers/$folder" ||
    say "going on without $folder: its tests will be skipped"
  rm -rf build/peers/.new
}
# Slurm's daemons and programs, likewise.
slurm_packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 libnuma1
  liblua5.1-0 libjson-c5 libdbus-1-3 libyaml-0-2 liblz4-1 libreadline8)
want_engines() {
  command -v dpkg-deb >/dev/null || return 0
  unpack_engines engines apt-get download -qq "${engine_packages[@]}"
  unpack_engines slurm apt-get download -qq "${slurm_packages[@]}"
  [[ -d build/peers/engines-trixie ]] || from_trixie engines-trixie docker.io docker-cli containerd
}
# Trixie's Slurm, with a C library of its own, which its programs then name.
want_newer_slurm() {
  local peer=$here/build/peers/slurm-trixie program
  [[ -d $peer ]] && return
  from_trixie slurm-trixie "${slurm_packages[@]/%libreadline8/libreadline8t64}" libc6 libgcc-s1 libstdc++6 libtinfo6 \
    libb64-0d libjansson4 libjwt2 libssl3t64 libsystemd0 libpmix2t64 libevent-core-2.1-7t64 \
    libevent-pthreads-2.1-7t64 zlib1g libcap2 libudev1 libpam0g libaudit1 libcap-ng0 libxml2 liblzma5 libzstd1 \
    libgcrypt20 libgpg-error0 libselinux1 libpcre2-8-0
  local libraries=$peer/usr/lib/x86_64-linux-gnu
  for program in "$peer"/usr/bin/* "$peer"/usr/sbin/slurm*; do
    patchelf --force-rpath --set-rpath "$libraries:$libraries/slurm-wlm" \
      --set-interpreter "$libraries/ld-linux-x86-64.so.2" "$program" 2>/dev/null || true
  done
}
# apptainer, which is in Debian's unstable alone, with trixie's libraries, which its programs then name. They look for
# their settings beside themselves.
want_apptainer() {
  local peer=$here/build/peers/apptainer libraries
  [[ -d $peer ]] && return
  local -a apt
  debian_apt 'trixie main' 'sid main' || return 0
  unpack_engines apptainer "${apt[@]}" download apptainer/sid {libc6,libseccomp2,libsqlite3-0,libgcc-s1}/trixie
  [[ -d $peer ]] || return 0
  libraries=$peer/usr/lib/x86_64-linux-gnu
  patchelf --force-rpath --set-rpath "$libraries" --set-interpreter "$libraries/ld-linux-x86-64.so.2" \
    "$peer/usr/bin/apptainer" "$libraries/apptainer/bin/starter"
  mkdir -p "$peer/var/lib/apptainer/mnt/session"
  ln -s ../etc ../var "$peer/usr"
  ln -s ../../etc ../../var "$peer/usr/lib"
}
# from_trixie FOLDER PACKAGES: unpacked into build/peers/FOLDER.
from_trixie() {
  local -a apt
  debian_apt 'trixie main' || return 0
  unpack_engines "$1" "${apt[@]}" download "${@:2}"
}

# What holds the chart to Kubernetes' types, and with "helm" the program that renders it: Go modules, built
# into build/peers/kubernetes. helm takes minutes.
want_kubernetes() {
  command -v go >/dev/null || { say "no go here: the chart's tests will be skipped" && return; }
  local to=$here/build/peers/kubernetes
  if [[ ! -x $to/check_manifests || tests/kubernetes/main.go -nt $to/check_manifests ]]; then
    say "building by go: tests/kubernetes"
    (cd tests/kubernetes && CGO_ENABLED=0 GOGC=400 go build -gcflags="all=-N -l" -ldflags="-s -w" -o "$to/check_manifests" . >&2) ||
      say "going on without check_manifests: what needs it will be skipped"
  fi
  [[ ${1-} == helm && ! -x $to/helm ]] || return 0
  say "building by go: helm"
  GOBIN=$to go install helm.sh/helm/v3/cmd/helm@v3.18.6 >&2 || say "going on without helm"
}

# nerdctl, a Go module, built into build/peers/nerdctl; without what its own tests import, which is published nowhere.
want_nerdctl() {
  local to=$here/build/peers/nerdctl version=2.2.0 module=github.com/containerd/nerdctl folder
  [[ ! -x $to/nerdctl ]] && command -v go >/dev/null || return 0
  say "building by go: nerdctl"
  rm -rf "$to"
  folder=$(GONOSUMDB="$module/*" go mod download -json "$module/v2@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') &&
    cp -r "$folder" "$to" && chmod -R u+w "$to" && rm "$to"/cmd/nerdctl/helpers/testing*.go && rm -rf "$to/mod" &&
    (cd "$to" && sed -i '/mod\/tigron/d' go.mod &&
      go build -mod=mod -ldflags "-X $module/v2/pkg/version.Version=$version" -o nerdctl ./cmd/nerdctl >&2) ||
    say "going on without nerdctl: its tests will be skipped"
}

# want_python_peers FOLDER PACKAGES: by pip, in a Python of their own, build/peers/FOLDER.
want_python_peers() {
  local peer=build/peers/$1
  [[ -x $peer/bin/python ]] && return
  say "installing by pip into $peer: ${*:2}"
  { "$python" -m venv "$peer" && "$peer/bin/pip" install --quiet "${@:2}"; } >&2 ||
    { rm -rf "$peer" && say "going on without: what needs them is left out"; }
}

# Debian's static libraries of arm64, unpacked: the machine itself gets no second architecture.
arm64_libraries=(libsqlite3-dev zlib1g-dev libssl-dev libyaml-dev)
want_arm64_libraries() {
  [[ -f build/peers/arm64/versions ]] && return
  local release deb
  local -a apt
  release=$(. /etc/os-release && printf %s "${VERSION_CODENAME-}")
  arch=arm64 debian_apt "$release main" || die "no mirror of Debian here: the libraries of arm64 come from one"
  say "unpacking Debian's ${arm64_libraries[*]} of arm64 into build/peers/arm64"
  rm -rf build/peers/.new
  mkdir -p build/peers/.new/arm64
  (cd build/peers/.new && "${apt[@]}" download "${arm64_libraries[@]}" >&2 &&
    for deb in *.deb; do
      dpkg-deb -x "$deb" arm64 && dpkg-deb -f "$deb" Package Version | sed 's/.*: //' | paste -sd ' '
    done >arm64/versions) || die "the libraries of arm64 could not be had"
  mv build/peers/.new/arm64 build/peers/arm64
  rm -rf build/peers/.new
}
