#!/usr/bin/env bash
# Lets the kernel count for everybody on this machine, by sudo where it needs no password; for runners of
# continuous integration. "put-back" undoes what was done before.
#   src/allow-counting.sh                What it changes is written to $GITHUB_OUTPUT, if there is one.
#   src/allow-counting.sh put-back       PARANOID, MOUNTED and MODES say what there was: the outputs of the first.
set -euo pipefail
tracing=${TRACING:-/sys/kernel/tracing}

notice() { echo "::notice title=waitbench::$1"; }
keep() { printf '%s\n' "$1" >>"${GITHUB_OUTPUT:-/dev/null}"; }

# Who is root already need not have it, as in a container.
if ((EUID == 0)) && ! command -v sudo >/dev/null; then
  sudo() {
    shift
    "$@"
  }
fi

allow() {
  local refused=": ./waitbench doctor says what is not measured then." paranoid path mode part modes=""
  if ! sudo -n true 2>/dev/null; then
    notice "No sudo without a password, so the kernel may refuse to count$refused"
    return
  fi
  paranoid=$(sysctl -n kernel.perf_event_paranoid 2>/dev/null || true)
  # What was there before is written down as it is changed, so that it can be put back.
  if [[ $paranoid =~ ^-?[0-9]+$ ]] && ((paranoid > -1)); then
    keep "paranoid=$paranoid"
    sudo -n sysctl -q -w kernel.perf_event_paranoid=-1 || notice "kernel.perf_event_paranoid stays $paranoid$refused"
  fi
  if ! mountpoint -q "$tracing"; then
    sudo -n mount -t tracefs tracefs "$tracing" || {
      notice "$tracing cannot be mounted$refused"
      return
    }
    keep mounted=yes
  fi
  path=$tracing
  # From outside to inside: what is below can only be seen once the way to it is open.
  for part in "" /events /raw_syscalls /sys_enter /id; do
    path+=$part
    mode=$(sudo -n stat -c %a "$path" 2>/dev/null) || {
      notice "$path is not there$refused"
      return
    }
    modes+="$mode:$path "
    keep "modes=$modes"
    sudo -n chmod o+rX "$path" || {
      notice "$path cannot be opened$refused"
      return
    }
  done
}

put_back() {
  local modes place
  if [[ -n ${PARANOID-} ]]; then
    sudo -n sysctl -q -w "kernel.perf_event_paranoid=$PARANOID" ||
      notice "kernel.perf_event_paranoid could not be put back to $PARANOID"
  fi
  read -ra modes <<<"${MODES-}"
  # From inside to outside.
  for ((place = ${#modes[@]} - 1; place >= 0; place--)); do
    sudo -n chmod "${modes[place]%%:*}" "${modes[place]#*:}" ||
      notice "${modes[place]#*:} could not be put back to mode ${modes[place]%%:*}"
  done
  if [[ -n ${MOUNTED-} ]]; then
    sudo -n umount "$tracing" || notice "$tracing could not be unmounted"
  fi
}

case ${1-allow} in
  allow) allow ;;
  put-back) put_back ;;
  *)
    echo "$0: $1 is neither allow nor put-back." >&2
    exit 2
    ;;
esac
