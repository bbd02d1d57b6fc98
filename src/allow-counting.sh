#!/usr/bin/env bash
# Allows all users of this machine to count events in the kernel, by sudo without a password. For runners of
# continuous integration.
#   src/allow-counting.sh                Writes the previous settings to $GITHUB_OUTPUT, if it is set.
#   src/allow-counting.sh put-back       Restores them from the variables PARANOID, MOUNTED and MODES.
set -euo pipefail
tracing=${TRACING:-/sys/kernel/tracing}

notice() { echo "::notice title=waitbench::$1"; }
save() { printf '%s\n' "$1" >>"${GITHUB_OUTPUT:-/dev/null}"; }

# Containers often run as root and have no sudo.
if ((EUID == 0)) && ! command -v sudo >/dev/null; then
  sudo() {
    shift
    "$@"
  }
fi

allow() {
  local hint=": ./waitbench doctor lists what is not measured then." paranoid path mode part modes=""
  if ! sudo -n true 2>/dev/null; then
    notice "No sudo without a password, so the kernel may refuse to count$hint"
    return
  fi
  paranoid=$(sysctl -n kernel.perf_event_paranoid 2>/dev/null || true)
  # Each setting is saved before it is changed, so that it can be restored even after an interruption.
  if [[ $paranoid =~ ^-?[0-9]+$ ]] && ((paranoid > -1)); then
    save "paranoid=$paranoid"
    sudo -n sysctl -q -w kernel.perf_event_paranoid=-1 || notice "kernel.perf_event_paranoid stays $paranoid$hint"
  fi
  if ! mountpoint -q "$tracing"; then
    sudo -n mount -t tracefs tracefs "$tracing" || {
      notice "$tracing cannot be mounted$hint"
      return
    }
    save mounted=yes
  fi
  path=$tracing
  # A folder must be open before the folders in it can be read.
  for part in "" /events /raw_syscalls /sys_enter /id; do
    path+=$part
    mode=$(sudo -n stat -c %a "$path" 2>/dev/null) || {
      notice "$path does not exist$hint"
      return
    }
    modes+="$mode:$path "
    save "modes=$modes"
    sudo -n chmod o+rX "$path" || {
      notice "$path cannot be opened$hint"
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
  # The innermost folder first, because closing a folder hides the folders in it.
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
