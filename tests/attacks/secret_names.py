"""Names of env vars: those that hold a secret, and those that only sound like it. Extend a table by a name."""

SECRET = [
    *(
        "OPENAI_API_KEY",
        "OPENAI_API_KEY_2",
        "OPENAI_KEY_OLD",
        "ANTHROPIC_API_KEY",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
    ),
    *("WANDB_API_KEY", "DB_PASS", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "REDIS_PASSWD", "MY_CREDENTIALS"),
    *("GOOGLE_CREDENTIALS_JSON", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"),
    *("GITHUB_PAT", "GH_TOKEN", "SLACK_WEBHOOK_URL", "SENTRY_DSN", "DATABASE_DSN", "AZURE_STORAGE_CONNECTION_STRING"),
    *("SERVICE_AUTH", "BASIC_AUTH_HEADER", "SESSION_COOKIE", "SSH_PRIVATE_KEY", "TLS_CERT_PEM", "SIGNING_SECRET_V2"),
    *("JWT_SIGNATURE", "ENCRYPTION_KEYS", "VAULT_TOKEN_FILE_CONTENT", "openaiApiKey", "myAppSecret", "authtoken"),
    *("APIKEY", "KEY_PASSPHRASE", "AZURE_SAS", "OTP_SEED", "BEARER"),
    *("ADMIN_PW", "LDAP_BIND_PW", "SSHPASS", "DBPASS", "DBPASS2", "PASSCODE", "HASH_SALT", "WALLET_MNEMONIC"),
    *("SEED_PHRASE", "SERVICE_ACCOUNT_JSON", "VAULT_UNSEAL", "MASTERKEY", "KENNWORT"),
]

HARMLESS = [
    *("TOKENIZERS_PARALLELISM", "KEYBOARD", "KEYBOARD_LAYOUT", "MONKEY", "PASSAGE", "COMPASS", "PATH", "PYTHONPATH"),
    *("PWD", "OLDPWD", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"),
    *("SESSION_MANAGER", "AUTHOR", "HOSTNAME", "USER", "HOME", "TERM", "LANG", "CERTAINTY", "PRIVATELY"),
    *("BYPASS", "SEED", "RANDOM_SEED", "BASALT"),
    *("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MODEL_PATH"),
]

# Values of secret-looking names that are in any text: without them, no log could be read.
PLAIN_VALUES = [
    "true",
    "1",
    "none",
    "test",
    "1024",
    "0.5",
    "/tmp/agent.sock",
    "basic",
    "wayland",
    "default",
    "production",
]
