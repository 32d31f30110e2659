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
    *("STRIPE_SK", "ADMINPASS", "ADMINPW", "MYPASS", "LDAP_BINDPW", "TOTP_SEED", "RECOVERY_CODE", "BACKUP_CODES"),
    *("MFA_CODE", "SERVER_PEM", "ID_RSA", "RSA_PRIV", "PRIVKEY", "PRIVATEKEY", "SIGNKEY", "ENCKEY", "DEPLOYKEY"),
    *("SSHKEY", "GPGKEY", "LICENSEKEY", "SESSIONID", "SESSID", "AUTHKEY", "BASICAUTH", "HTTPAUTH", "PROXYAUTH"),
    *("GCP_SA_JSON", "KUBECONFIG_DATA", "MDP", "CLAVE", "CONTRASENA", "CONTRASEÑA", "SENHA", "PAROLA", "HASLO"),
    *("WIFI_PSK", "VPN_PSK", "KAFKA_SASL_JAAS", "KERBEROS_KEYTAB", "KEYSTORE_DATA", "PFX_DATA", "FERNET"),
    *("BITCOIN_XPRV", "CARD_CVV"),
    *("PASSWORD_PEPPER", "PEPPER", "SAML_ASSERTION", "CLIENT_ASSERTION", "REFRESH_TOK", "API_TOK", "BOT_TOK"),
    *("PYPI_UPLOAD_TOK", "VOLC_AK", "VOLC_SK", "ALIYUN_AK", "DEEPSEEK_SK", "ACCESSKEYID", "VAULT_SECRETID", "PIN_CODE"),
    *("ANSIBLE_VAULT_ID", "IMAP_PASSW", "GPG_PASSP", "ADMIN_PASSPHRASES", "GCP_KEYFILE_JSON", "GOOGLE_KEYJSON"),
    *("FIREBASE_ADMIN_JSON", "GCLOUD_SVC_JSON", "SLACK_HOOK_URL", "DISCORD_HOOK", "TEAMS_HOOK", "TWOFA_CODE"),
    *("ACTIVATION_CODE", "UNLOCK_CODE", "WALLET_SEED_WORDS", "MOT_DE_PASSE", "KODEORD", "LOSENORD"),
    *("SALASANA", "LOZINKA", "HESLO", "JELSZO", "SIFRE", "PAROLE", "GESLO", "MATKHAU", "KATA_SANDI", "暗証番号"),
    *("パスコード", "암호", "סיסמה", "كلمة_السر", "รหัสผ่าน", "Κωδικός", "ключ_доступа", "şifre_2"),
    *("NETRC", "NETRC_CONTENT", "KUBECONFIG_B64", "KUBE_CONFIG_DATA", "KUBECONFIG_BASE64", "P12_BASE64", "USERPWD"),
    *(
        "ConnectionStrings__DefaultConnection",
        "PGPASSFILE_CONTENT",
        "AIRFLOW_CONN_AWS",
        "DOCKER_CONFIG_JSON",
        "MACAROON",
    ),
    *("NTLM_HASH", "CSRF", "XSRF_TOKEN", "ACCESS_CODE", "PERSONAL_ACCESS", "SPLUNK_HEC", "SUPABASE_SERVICE_ROLE"),
    *(
        "AZURE_DEVOPS_EXT_PAT",
        "ARM_SAS_TOKEN",
        "CI_JOB_JWT",
        "DOCKER_AUTH_CONFIG",
        "npm_config__authToken",
        "TS_AUTHKEY",
    ),
    *("REDISCLI_AUTH", "RABBITMQ_DEFAULT_PASS", "SA_PASSWORD", "QIANFAN_AK", "HUAWEICLOUD_SDK_SK", "BW_SESSION"),
    *("BW_CLIENTSECRET", "SNOWSQL_PWD", "TABLEAU_PAT", "SECRET_KEY_BASE", "ORG_GRADLE_PROJECT_SIGNINGKEY", "VNC_PW"),
    *(
        "APPINSIGHTS_INSTRUMENTATIONKEY",
        "TF_VAR_db_password",
        "spring.datasource.password",
        "SOPS_AGE_KEY",
        "DD_APP_KEY",
    ),
    *("WACHTWOORD", "数据库密码", "API密钥", "口令", "パスワード", "ПАРОЛЬ"),
]

HARMLESS = [
    *("TOKENIZERS_PARALLELISM", "KEYBOARD", "KEYBOARD_LAYOUT", "MONKEY", "PASSAGE", "COMPASS", "PATH", "PYTHONPATH"),
    *("PWD", "OLDPWD", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"),
    *("SESSION_MANAGER", "AUTHOR", "HOSTNAME", "USER", "HOME", "TERM", "LANG", "CERTAINTY", "PRIVATELY"),
    *("BYPASS", "SEED", "RANDOM_SEED", "BASALT", "HOTKEY", "TURKEY", "OVERPASS", "ENCLAVE", "HMAC_ALGORITHM"),
    *("GIT_HOOK_PATH", "WORKER_PROCESS_SETUP_HOOK", "FINISH_HOOK_CMD", "TOKYO", "ASK", "TASK", "DISK", "WORDS", "CODE"),
    *("SEED_WORD_COUNT", "PIN_MEMORY", "ADMIN_NAME", "SVC_PORT", "DEFAULT_VALUE", "ZIP_CODE", "EXIT_CODE", "PEPPERONI"),
    *(
        "MAX_TOKENS",
        "MAX_NEW_TOKENS",
        "NUM_TOKENS",
        "TOKEN_BUDGET",
        "KEY_COLUMN",
        "PRIMARY_KEY",
        "SORT_KEY",
        "PASS_RATE",
    ),
    *(
        "PASS_AT_K",
        "SESSION_NAME",
        "SSH_AUTH_SOCK",
        "SSH_CONNECTION",
        "PRIVATE_IP",
        "AUTHORS",
        "COOKIECUTTER",
        "KEYWORDS",
    ),
    *(
        "SECRETARY",
        "PATTERN",
        "CONN_TIMEOUT",
        "SALTED",
        "AWS_REGION",
        "AZURE_CLIENT_ID",
        "DOCKER_HOST",
        "DOCKER_CONFIG",
    ),
    *("KUBERNETES_SERVICE_HOST", "HF_HOME", "WANDB_PROJECT", "XAUTHORITY", "KEYMAP", "HASH", "CONNECTIONS", "CREDIT"),
    *("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MODEL_PATH"),
]

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiaW5zaWRlMTEifQ.c2lnbmF0dXJl"
# Values of names that sound like nothing, and the secret inside of each.
INSIDE = [
    ("DATABASE_URL", "postgres://kit:in%2Fside@one@db.example/x", "in%2Fside@one"),
    ("DATABASE_URL", "postgres://kit:in%2Fside@one@db.example/x", "in/side@one"),
    ("REDIS_URL", "redis://:inside-two-9@cache.example:6379/0", "inside-two-9"),
    ("BROKERS", "amqp://a:inside-3a@h1/,amqp://b:inside-3b@h2/", "inside-3b"),
    ("DB_CONN", "Server=db;Uid=kit;Pwd=inside4word;Encrypt=yes", "inside4word"),
    ("JDBC_URL", "jdbc:mysql://db.example/x?user=kit&password=inside5word", "inside5word"),
    ("JAVA_OPTS", "-Xmx1g -Djavax.net.ssl.keyStorePassword=inside6word", "inside6word"),
    ("SERVICEBUS_CONNECTION", "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=inside7AbC=", "inside7AbC="),
    ("BLOB", "https://x.example/c?sv=2024&sig=inside8%2BAbC%3D", "inside8+AbC="),
    ("REGISTRY", '{"auths": {"registry.example": {"auth": "inside9base64"}}}', "inside9base64"),
    ("SERVICE", '{"project": "kit", "users": [{"password": "inside10word"}]}', "inside10word"),
    ("ROLE", JWT, JWT),
]
# ... and in which nothing is one.
NOTHING_INSIDE = [
    ("LS_COLORS", "*.key=01;32:token=01;31long-colour", "01;31long-colour"),
    ("SERVICE_URL", "http://host.example:8080/path", "8080/path"),
    ("SETTINGS", '{"monkey": "a-long-word-1", "max_tokens": "512-and-more"}', "a-long-word-1"),
    ("KIT_TOOLS", '{"token": "a-description-of-it"}', "a-description-of-it"),
    ("MAKEFLAGS", "-j8 --jobserver-auth=3,4 keyboard=dvorak-programmer", "dvorak-programmer"),
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

# What providers' keys look like, whatever the variable is called that holds one.
LOOKING = [
    *("sk_live_51Habc0123456789abcdef", "rk_test_51Habc0123456789abcdef", "whsec_abc0123456789abcdef0123"),
    *("npm_abcDEF0123456789abcdefABCDEF012345", "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1", "dop_v1_0123456789abcdef0123"),
    *("SG.abcdefghijklmnop.qrstuvwxyzABCDEF", "ya29.a0AfH6SMBabcdefghijklmno", "ASIAIOSFODNN7EXAMPLE"),
    *("gsk_abcdefghijklmnopqrstuvwx", "r8_abcdefghijklmnopqrstuvwxyz01234567", "pplx-abcdefghijklmnopqrstuv"),
    *("nvapi-abcdefghijklmnopqrstuvwx", "dckr_pat_abcdefghijklmnopqrst", "hvs.abcdefghijklmnopqrstuvwxyz01"),
    *("tvly-abcdefghijklmnopqrst", "glsa_abcdefghijklmnopqrstuvwx", "lin_api_abcdefghijklmnopqrstuvw"),
    *(
        "shpat_0123456789abcdef0123",
        "figd_abcdefghijklmnopqrstuv",
        "lsv2_pt_0123456789abcdef0123",
        "wandb_v1_abcdefghijklmnopqr",
    ),
    *(
        "sk-proj-abcdefghijklmnop",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "glpat-abcdefghijklmnopqrst",
        "AKIAIOSFODNN7EXAMPLE",
    ),
]
# What is no key.
NOT_LOOKING = [
    "sk_learn_is_a_library",
    "npm_config",
    "pypi-mirror",
    "a.b.c",
    "gsk_short",
    "hvs.x",
    "nvapi",
    "tvly",
    "SG.1.2",
]
