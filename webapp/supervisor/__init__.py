"""Starts and ends everything on one machine: Redis, the web server, one worker a queue. `python -m webapp.supervisor`.

guardian (the process that was started; keeps the lock, forwards signals, clears up after everything)
  └ supervisor (starts the parts, starts again each that dies, shows their output, ends them all together)
      ├ redis   (not with REDIS_URL)
      ├ web
      ├ gpu, cpu, execute   one worker a queue
      └ database   migrates, and ends before web and workers start
"""
