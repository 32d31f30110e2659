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
    *("WACHTWOORD", "数据库密码", "API密钥", "口令", "パスワード", "ПАРОЛЬ"),
]

HARMLESS = [
    *("TOKENIZERS_PARALLELISM", "KEYBOARD", "KEYBOARD_LAYOUT", "MONKEY", "PASSAGE", "COMPASS", "PATH", "PYTHONPATH"),
    *("PWD", "OLDPWD", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"),
    *("SESSION_MANAGER", "AUTHOR", "HOSTNAME", "USER", "HOME", "TERM", "LANG", "CERTAINTY", "PRIVATELY"),
    *("BYPASS", "SEED", "RANDOM_SEED", "BASALT", "HOTKEY", "TURKEY", "OVERPASS", "ENCLAVE", "HMAC_ALGORITHM"),
    *("GIT_HOOK_PATH", "WORKER_PROCESS_SETUP_HOOK", "FINISH_HOOK_CMD", "TOKYO", "ASK", "TASK", "DISK", "WORDS", "CODE"),
    *("SEED_WORD_COUNT", "PIN_MEMORY", "ADMIN_NAME", "SVC_PORT", "DEFAULT_VALUE", "ZIP_CODE", "EXIT_CODE", "PEPPERONI"),
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
