"""Who may come in: the values of `settings.ACCOUNTS`."""

OFF = "off"
"""everybody on this machine"""
LOCAL = "local"
"""users with a password"""
PROXY = "proxy"
"""users whom a proxy names"""
OIDC = "oidc"
"""users of an OpenID provider"""
MODES = (OFF, LOCAL, PROXY, OIDC)
