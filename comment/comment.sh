#!/usr/bin/env bash
# Writes the verdicts in $RESULTS into one comment of a pull request; see action.yml. It takes gh, GitHub's program.
set -euo pipefail
marker='<!-- waitbench -->'
most_bytes=60000 # GitHub takes 65,536 characters

number=${NUMBER-}
if [[ -z $number ]]; then
  # The pull request may have moved on since, and then another run has the word.
  found=$(gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" -f state=open -f "head=$HEAD_OWNER:$HEAD_BRANCH" \
    --jq '.[] | select(.head.sha == env.HEAD_SHA) | .number')
  number=${found%%$'\n'*}
  if [[ -z $number ]]; then
    echo "::notice title=waitbench::No open pull request ends in $HEAD_SHA any more: nothing to comment."
    exit 0
  fi
fi
if [[ ! $number =~ ^[0-9]+$ ]]; then
  echo "::error title=waitbench::$number is not the number of a pull request."
  exit 3
fi

verdicts=()
while IFS= read -r -d '' file; do verdicts+=("$file"); done < <(find "$RESULTS" -name verdict.md -type f -print0 2>/dev/null | sort -z)
if ((${#verdicts[@]} == 0)); then
  echo "::notice title=waitbench::There is no verdict: nothing was measured."
  exit 0
fi
comment=$(mktemp)
trap 'rm -f "$comment"' EXIT
{
  echo "$marker"
  # Nobody is called by what the results say, however that is written.
  cat "${verdicts[@]}" | sed "s/&\(#\|commat\)/\&amp;\1/g; s/@/@<!-- -->/g" | head -c "$most_bytes" || true
  printf '\n\n[Log and results](%s)\n' "$RUN_URL"
} >"$comment"

found=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$number/comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- waitbench -->"))) | .id')
earlier=${found%%$'\n'*}
if [[ -n $earlier ]]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$earlier" -F "body=@$comment"
else
  gh api --silent --method POST "repos/$GITHUB_REPOSITORY/issues/$number/comments" -F "body=@$comment"
fi
