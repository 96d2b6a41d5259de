# What an interactive shell in the container shows first; /etc/bash.bashrc reads it.
# shellcheck shell=bash
if [[ $- == *i* && $SHLVL -eq 1 ]]; then
    # The shell may be there before the entrypoint is through.
    if [[ ! -e /home/rlscope/.ready ]]; then
        echo "starting: building what changed in the checkout …"
        until [[ -e /home/rlscope/.ready ]]; do sleep 0.2; done
    fi
    cat <<'BANNER'

   ____  _          ____
  |  _ \| |        / ___|  ___ ___  _ __   ___
  | |_) | |   ____ \___ \ / __/ _ \| '_ \ / _ \
  |  _ <| |__|____| ___) | (_| (_) | |_) |  __/
  |_| \_\_____|    |____/ \___\___/| .__/ \___|
                                   |_|
  Where does my RL training time go, and what would make it faster?

  rlscope_help lists the commands. What is written to output/ stays when the container goes.

BANNER
fi
