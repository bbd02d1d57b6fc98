#!/usr/bin/env bash
# Replaces the placeholder OWNER by the account that hosts this repository: src/owner.sh NAME
# Also deletes the lines that explain the placeholder.
set -euo pipefail
owner=OWNER
cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
name=${1-}
if (($# != 1)) || [[ ! $name =~ ^[A-Za-z0-9]([A-Za-z0-9-]{0,37}[A-Za-z0-9])?$ ]]; then
  echo "src/owner.sh: '$*' is not the name of an account." >&2
  exit 2
fi
git grep -lIz -e "\b$owner/waitbench" -e "\`$owner\`" -- . ':!src/owner.sh' \
  | xargs -0 sed -i -e "/\`$owner\`/d" -e "s#\b$owner/waitbench#$name/waitbench#g"
sed -i "s/^owner=.*/owner=$name/" src/owner.sh
