"""All settings of the web application and its workers. Nothing else reads the environment.

DATABASE_URL and REDIS_URL replace the embedded database and Redis by others.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from engine import api
from webapp import environment, logs
from webapp.accounts_mode import LOCAL, MODES, OFF, OIDC, PROXY
from webapp.broker_address import broker_address, redis_address
from webapp.database_address import database
from webapp.mail_address import mail_settings

os.umask(0o077)  # what any process of the application writes is its owner's alone

BASE_FOLDER = Path(__file__).resolve().parent.parent

DATA_FOLDER = environment.folder("PLACETO_DATA", BASE_FOLDER / "data")
"""The folder of all stored data: uploads, the embedded database and Redis, the secret key."""

UPLOAD_LIMIT_BYTES = environment.integer("PLACETO_UPLOAD_LIMIT_BYTES", 256 * 1024**2, lowest=1024, highest=2 * 1024**3)
"""The largest upload, both files together; a larger body is refused before it is spooled."""
FORM_LIMIT_BYTES = 1024**2
"""The largest body of any other request."""

FAMILIES_FOLDER = environment.folder("PLACETO_FAMILIES", DATA_FOLDER / "families")
"""The cache of prepared graphs of the families that policies are trained on."""
DEFAULT_POLICY = Path(environment.text("PLACETO_DEFAULT_POLICY", str(BASE_FOLDER / "policies" / "default.safetensors")))
"""The file of the policy that comes with a release, if there is one."""
MACHINE = Path(environment.text("PLACETO_MACHINE", str(DATA_FOLDER / "machine.json")))
"""The cluster JSON that `python -m engine calibrate` has written on this machine, if there is one."""

HEARTBEAT_SECONDS = environment.seconds("PLACETO_HEARTBEAT_SECONDS", 10.0, lowest=0.1, highest=600.0)
"""The time between two heartbeats of a worker, and between two rounds of a reaper."""
STALE_AFTER_SECONDS = 6 * HEARTBEAT_SECONDS
"""A job whose heartbeat is older than this is queued again."""
MOST_ATTEMPTS = environment.integer("PLACETO_MOST_ATTEMPTS", 5, lowest=1, highest=100)
"""A job fails when its workers have stopped unexpectedly this many times without progress in between."""

YIELD_AFTER_SECONDS = environment.seconds("PLACETO_YIELD_AFTER_SECONDS", 600.0, lowest=1.0, highest=7 * 86400.0)
"""About how long a run or a training works before it goes back to its queue, at its next saved state, if others wait
whose jobs are as long; a tenth of it if those have worked less. See `webapp.jobs.turns`."""

EVENTS_DAYS = environment.integer("PLACETO_EVENTS_DAYS", 0, lowest=0, highest=36500)
"""The days after its end at which a run's events are thinned; 0: never."""
FAMILIES_DAYS = environment.integer("PLACETO_FAMILIES_DAYS", 90, lowest=0, highest=36500)
"""The days after which a cached graph of a family that no training has read is removed; 0: never."""

_WORKER_FILE = environment.text("PLACETO_WORKER_FILE", "")
WORKER_FILE = Path(_WORKER_FILE) if _WORKER_FILE else None
"""A file that a worker touches at each heartbeat while it takes jobs: a health check that needs no Python."""

METRICS_TOKEN = environment.token("PLACETO_METRICS_TOKEN", shortest=16)
"""The bearer token of /metrics; empty: there are no metrics."""

HOOKS_ALLOWED = environment.places("PLACETO_HOOKS_ALLOWED")
"""Names, addresses and networks that webhooks may reach beside public addresses."""
HOOKS_APPRISE = environment.names(
    "PLACETO_HOOKS_APPRISE",
    (
        *("discord", "gchat", "gotifys", "mailtos", "matrixs", "mmosts", "ntfys", "pbul", "pover", "rockets"),
        *("slack", "tgram", "workflows", "zulip"),
    ),
)
"""The services of Apprise that webhooks may use, by the beginnings of their addresses."""

READING_MEMORY_BYTES = environment.integer(
    "PLACETO_READING_MEMORY_BYTES", api.machine_memory_bytes() * 3 // 4, lowest=1024**3, highest=1024**5
)
"""The memory that the readings of one machine may use together; as many as fit work at once."""
RUN_MEMORY_BYTES = environment.integer(
    "PLACETO_RUN_MEMORY_BYTES", api.machine_memory_bytes() // 2, lowest=1024**3, highest=1024**5
)
"""The memory that one run, training or measurement may use."""

ACCOUNTS = environment.choice("PLACETO_ACCOUNTS", OFF, MODES)
"""Who may come in: everybody who reaches this machine's own address (off); users with a password (local); users that a
proxy names (proxy); users of an OpenID provider (oidc)."""
OPEN_TO_NETWORK = environment.flag("PLACETO_OPEN_TO_NETWORK", default=False)
"""Whether, with accounts off, everybody in the network may come in too."""
OPERATORS = environment.names("PLACETO_OPERATORS", ())
"""Who of the users are operators, with `proxy` and `oidc`; with `local` the set-up link makes the first one."""
TRUSTED_PROXIES = environment.networks("PLACETO_TRUSTED_PROXIES")
"""The addresses, or networks, of the proxies whose headers count."""
PROXY_USER_HEADER = environment.header("PLACETO_PROXY_USER_HEADER", "Remote-User")
"""The header in which such a proxy names the user, with `proxy`."""
PROXY_LOG_OUT = environment.place("PLACETO_PROXY_LOG_OUT")
"""Where the proxy logs its users out, for a link on the pages, with `proxy`; empty: there is no link."""
OIDC_ADDRESS = environment.web_address("PLACETO_OIDC_ADDRESS")
"""The OpenID provider: its issuer, below which it says how it works."""
OIDC_CLIENT_ID = environment.text("PLACETO_OIDC_CLIENT_ID", "")
"""What the provider calls this installation."""
OIDC_CLIENT_SECRET = environment.token("PLACETO_OIDC_CLIENT_SECRET", shortest=8)
"""What this installation shows the provider."""
OIDC_NAME = environment.text("PLACETO_OIDC_NAME", "OpenID")
"""What people call the provider, for the button."""
OIDC_DOMAINS = environment.names("PLACETO_OIDC_DOMAINS", ())
"""The domains of the verified e-mail addresses that may come in; none: everybody whom the provider lets in."""
if ACCOUNTS == PROXY:
    environment.require("PLACETO_ACCOUNTS=proxy", "PLACETO_TRUSTED_PROXIES")
if ACCOUNTS == OIDC:
    environment.require(
        "PLACETO_ACCOUNTS=oidc", "PLACETO_OIDC_ADDRESS", "PLACETO_OIDC_CLIENT_ID", "PLACETO_OIDC_CLIENT_SECRET"
    )

API_REQUESTS_PER_MINUTE = environment.integer(
    "PLACETO_API_REQUESTS_PER_MINUTE", 0 if ACCOUNTS == OFF else 600, lowest=0, highest=1_000_000
)
"""How often a token, a user or an address may ask the API in a minute; 0: as often as they like."""

SECRET_KEY = environment.secret("SECRET_KEY", DATA_FOLDER / "secret_key")
DEBUG = environment.flag("DEBUG", default=False)
ALLOWED_HOSTS = [*environment.names("ALLOWED_HOSTS", ()), "localhost", "127.0.0.1", "[::1]"]
"""Host names that the application answers to; always this machine's own, which health checks use."""
CSRF_TRUSTED_ORIGINS = environment.names("CSRF_TRUSTED_ORIGINS", ())

BEHIND_TLS = environment.flag("PLACETO_BEHIND_TLS", default=False)
"""Whether a proxy ends TLS: browsers then use HTTPS alone, and cookies go over nothing else."""
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]  # asked on this machine
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if BEHIND_TLS else 0
CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_SECURE = BEHIND_TLS  # also of the cookie with messages
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # `security_headers` sets X-Frame-Options
    "security.W005",  # HSTS for other names of the domain is the operator's decision
    "security.W021",
    *(["axes.W003"] if ACCOUNTS in (PROXY, OIDC) else []),  # it limits attempts at passwords: there are none
]

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "webapp.apps.WebappConfig",
    "webapp.workers.apps.WorkersConfig",
    "webapp.accounts.apps.AccountsConfig",
    "webapp.jobs.apps.JobsConfig",
    "webapp.projects.apps.ProjectsConfig",
    "webapp.graphs.apps.GraphsConfig",
    "webapp.uploads.apps.UploadsConfig",
    "webapp.policies.apps.PoliciesConfig",
    "webapp.runs.apps.RunsConfig",
    "webapp.placements.apps.PlacementsConfig",
    "webapp.sharing.apps.SharingConfig",
    "webapp.comparisons.apps.ComparisonsConfig",
    "webapp.plans.apps.PlansConfig",
    "webapp.measuring.apps.MeasuringConfig",
    "webapp.hooks.apps.HooksConfig",
    "webapp.backups.apps.BackupsConfig",
    "webapp.api.apps.ApiConfig",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "webapp.http.security_headers.security_headers",
    "webapp.http.static_files.StaticFiles",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "webapp.http.user_errors.UserErrorMiddleware",
    "webapp.access.gate.Gate",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_FOLDER / "webapp" / "pages", BASE_FOLDER / "webapp" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["webapp.pages.breadcrumbs", "webapp.pages.help.tips", "webapp.pages.packs.tags"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "webapp.access.words.rights",
            ],
        },
    },
]

_EMBEDDED_DATABASE = f"sqlite:///{quote(str(DATA_FOLDER / 'placeto.sqlite3'))}"
DATABASES = {"default": database(environment.text("DATABASE_URL", _EMBEDDED_DATABASE))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
BACKENDS_WITHOUT_PASSWORDS = ["webapp.accounts.backends.KnownUsers"]
AUTHENTICATION_BACKENDS = (
    ["axes.backends.AxesStandaloneBackend", "webapp.accounts.backends.Passwords"]
    if ACCOUNTS in (OFF, LOCAL)
    else BACKENDS_WITHOUT_PASSWORDS
)
"""a session that another of them has made ends, so that a change of PLACETO_ACCOUNTS logs everybody out"""
ACCOUNT_ADAPTER = "webapp.accounts.account_adapter.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "webapp.accounts.provider_adapter.ProviderAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "CommonPasswordValidator", "NumericPasswordValidator")
] + [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    }
]
LOGIN_URL = "accounts:log-in"
LOGIN_REDIRECT_URL = "home:page"
LOGOUT_REDIRECT_URL = "accounts:log-in"
SESSION_ENGINE = "webapp.accounts.session_store"
SESSION_COOKIE_NAME = "placeto_session"
SESSION_COOKIE_SAMESITE = "Lax"
"""a provider's answer to a log-in comes from another site"""
SESSION_COOKIE_AGE = 14 * 24 * 3600
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600
"""seconds for which an operator's link sets a password"""

_MAIL = environment.text("PLACETO_MAIL", "")
SENDS_MAIL = bool(_MAIL)
"""Whether a user who has forgotten a password can ask for a mail."""
vars().update(mail_settings(_MAIL) if SENDS_MAIL else {})
DEFAULT_FROM_EMAIL = environment.text("PLACETO_MAIL_FROM", "placeto@localhost")

AXES_ENABLED = ACCOUNTS == LOCAL
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
"""hours for which an address waits after so many refused log-ins"""
AXES_LOCKOUT_PARAMETERS = ["ip_address"]
AXES_RESET_ON_SUCCESS = False
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "webapp.pages.accounts.log_in.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
AXES_CLIENT_IP_CALLABLE = "webapp.accounts.addresses.client_address"

MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
CSRF_COOKIE_NAME = "placeto_csrftoken"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_FAILURE_VIEW = "webapp.http.user_errors.csrf_failure"

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"

FILE_UPLOAD_HANDLERS = ["webapp.graphs.incoming.IncomingFileHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024**2
DATA_UPLOAD_MAX_MEMORY_SIZE = FORM_LIMIT_BYTES
DATA_UPLOAD_MAX_NUMBER_FILES = 2

_NINJA = Path(find_spec("ninja").submodule_search_locations[0])  # type: ignore[union-attr,index]  # a package
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_FOLDER / "frontend", ("swagger", _NINJA / "static" / "ninja")]
STATICFILES_FINDERS = [
    "webapp.http.static_files.FrontendFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",  # those of Django's admin
]
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 0

CELERY_BROKER_URL = broker_address(
    environment.text("REDIS_URL", f"redis+socket://{quote(str(DATA_FOLDER / 'redis' / 'redis.sock'))}")
)
NOTICES_URL = redis_address(CELERY_BROKER_URL)
"""The Redis for notices to waiting viewers: the broker's."""
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 3,
    "socket_timeout": 5,
    "max_retries": 1,
    "interval_start": 0,
    "interval_max": 0.2,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # a Redis that becomes read-only, as in a failover, answers by such errors
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_QUEUES = {
    "cpu": {"exchange": "cpu", "routing_key": "cpu"},
    "execute": {"exchange": "execute", "routing_key": "execute"},
    "gpu": {"exchange": "gpu", "routing_key": "gpu"},
}
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_CONSUMER = "webapp.jobs.patient_consumer:PatientConsumer"
CELERY_WORKER_CONCURRENCY = 1
CELERY_WORKER_POOL = "webapp.jobs.worker_pool:WorkerPool"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 1.0
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False

CHORES = (
    "webapp.hooks.noting.note_events",
    "webapp.jobs.purging.purge_step",
    "webapp.accounts.old_sessions.remove_old_sessions",
    "webapp.runs.run_summary.keep_missing_summaries",
    "webapp.runs.thinning.thin_old_runs",
    "webapp.jobs.free_pages.give_back_free_pages",
    "webapp.graphs.orphan_files.remove_orphan_files",
    "webapp.measuring.orphan_files.remove_orphan_profiles",
    "webapp.measuring.orphan_files.remove_orphan_rounds",
    "webapp.policies.family_cache.remove_unused_family_files",
    "webapp.uploads.receiving.remove_expired_uploads",
    "webapp.uploads.orphan_files.remove_orphan_uploads",
    "webapp.api.kept_answers.remove_old_answers",
    "webapp.hooks.thinning.thin_deliveries",
)
"""What a worker with the data folder does in small steps beside its jobs (`webapp.jobs.housekeeping`)."""

LOG_FORMAT = environment.choice("LOG_FORMAT", logs.TEXT, (logs.TEXT, logs.JSON))
LOGGING = logs.logging_settings(LOG_FORMAT, environment.text("LOG_LEVEL", "INFO").upper())
