/**
 * Texts with a secret in the place of `§`, which were written without knowledge of what is found. The secrets are invented. Texts only.
 */
import { some } from './invented.ts';

export const WRITTEN: readonly (readonly [text: string, secret: string])[] = [
  [
    `psycopg2.OperationalError: could not connect using dsn "host=pg-7.internal port=5432 dbname=billing user=svc_billing password='§' sslmode=require": timeout expired`,
    'Tr0ut&Lemon 88',
  ],
  [
    'requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://acme-exports.s3.eu-west-1.amazonaws.com/2024/q3.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20240911%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20240911T101502Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=§',
    '9f2c61be07d4a83e5510c7dd42ab96f8e3017c5b6a2f4d9980be13c57a64de21',
  ],
  [
    '  File "/srv/app/tasks/export.py", line 41, in upload\n    s3 = boto3.client("s3", aws_access_key_id="AKIA", aws_secret_access_key="§")\n         ^^^^^^^^^^^^^^^^^^\nbotocore.exceptions.ClientError: An error occurred (SignatureDoesNotMatch)',
    'q8Zr/Lm2VtYx0pKd+Hs7WcNbE4uJfGa91oTiQyRv',
  ],
  [
    'py4j.protocol.Py4JJavaError: An error occurred while calling o61.load.\n: com.microsoft.sqlserver.jdbc.SQLServerException: Login failed. url=jdbc:sqlserver://mssql01.corp.local:1433;databaseName=Ledger;user=etl_reader;password=§;encrypt=true',
    'Gr4nite#Falls',
  ],
  [
    `pyodbc.InterfaceError: ('28000', "[28000] [Microsoft][ODBC Driver 18 for SQL Server]Login failed for user 'rpt'. (18456) connstr=DRIVER={ODBC Driver 18 for SQL Server};SERVER=10.2.8.14;DATABASE=rpt;UID=rpt;PWD={§}")`,
    'mX;7kkd}}Po!',
  ],
  [
    'pymongo.errors.ConfigurationError: invalid seed in mongodb+srv://crm-worker:§@cluster0.ab1cd.mongodb.net/crm?retryWrites=true&w=majority',
    'v9Kp%2Fdune%40Xt4',
  ],
  [
    '[2024-10-02 08:11:54,310: ERROR/MainProcess] consumer: Cannot connect to amqp://celery:§@rabbit-0.rabbit:5672/prod: [Errno 111] Connection refused.',
    'hazelnut-Rope71',
  ],
  [
    '%3|1726041|FAIL|rdkafka#producer-1| conf: security.protocol=SASL_SSL sasl.mechanism=SCRAM-SHA-512 sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="orders" password="§";',
    'zeb7-Quartz-0091',
  ],
  [
    'kombu.exceptions.OperationalError: Error 8 connecting to rediss://:§@cache.prod.example.net:6380/0?ssl_cert_reqs=required. nodename nor servname provided',
    'p4f1c2e9aa7bd0',
  ],
  [
    "DEBUG:urllib3.connectionpool:send: b'GET /rest/api/3/issue/OPS-12 HTTP/1.1\\r\\nHost: acme.atlassian.net\\r\\nUser-Agent: python-requests/2.31.0\\r\\nAuthorization: Basic §\\r\\n\\r\\n'",
    'aW50ZWdyYXRpb25AYWNtZS5pbzpCbHVlLUhlcm9uLTU1Mg==',
  ],
  [
    "httpx.HTTPStatusError: Client error '401 Unauthorized'\nrequest headers: Headers({'host': 'api.partner.example', 'accept': '*/*', 'authorization': 'Bearer §'})",
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0ODIxMyIsInNjb3BlIjoiYWRtaW4iLCJleHAiOjE3MjY5OTk5OTl9.Qm3xT9vLr0aWz7PdKc5YhUeJ2sNfBg8oIiRtXk4VbM1',
  ],
  [
    `WARNING webhooks.replay request rejected method=POST path=/account/ headers={'Cookie': 'csrftoken=none; theme=dark; sessionid=§; lang=de'}`,
    'k2v8w1q0zjx5m9c7r3t6y4b1n8p0a2sd',
  ],
  [
    'stripe.error.AuthenticationError: Invalid API Key provided: §\n  (request-id req_7GhTq0Lw2)',
    `sk_live_${some(40)}`,
  ],
  [
    'slack_sdk.errors.SlackApiError: POST https://hooks.slack.com/services/T02ABQ9LK/B05ZXC81M/§ returned 404 no_team',
    some(24),
  ],
  [
    `subprocess.CalledProcessError: Command '['git', 'clone', '--depth=1', 'https://x-access-token:§@github.com/acme/infra.git', '/tmp/tmpq1']' returned non-zero exit status 128.`,
    `ghp_${some(36)}`,
  ],
  [
    "send: 'AUTH PLAIN §\\r\\n'\nreply: b'535 5.7.8 Error: authentication failed: bad protocol\\r\\n'\nsmtplib.SMTPAuthenticationError: (535, b'5.7.8 Error: authentication failed')",
    'AG1haWxlckBhY21lLmlvAHBlbGljYW4tSmFyLTMzMDc=',
  ],
  [
    `ldap.INVALID_CREDENTIALS: {'result': 49, 'desc': 'Invalid credentials'} while calling simple_bind_s(('cn=sync,ou=svc,dc=acme,dc=io', '§'), {})`,
    'Wren+Copper_19',
  ],
  [
    'yaml.scanner.ScannerError: while scanning a simple key\n  in "/etc/app/settings.yml", line 14:\n  smtp:\n    username: notifier\n    password: >-\n      §\n    port 587\n    ^',
    'ochre-Tandem-Gull-64',
  ],
  [
    "tomllib.TOMLDecodeError: Expected '=' after a key (at line 4, column 6) in document:\n[sentinel]\nnodes = [\"s1:26379\", \"s2:26379\"]\nsentinel_password = '''§'''\nretry 5",
    'cobalt"Moth"27x',
  ],
  [
    "configparser.DuplicateOptionError: While reading from '/root/.netrc-like.ini' [line 6]: option 'login' in section 'ftp' already exists\n[ftp]\nhost = ftp.supplier.example\nlogin = acme\npasswd : §",
    'saffron%%Dory%%5',
  ],
  [
    'dotenv.main: python-dotenv could not parse statement starting at line 9\n8: export DJANGO_SECRET_KEY="§"\n9: ALLOWED_HOSTS api.acme.io',
    'k#9w)2^xq!b0z_v7@u&4r$e1m(p6t*h3s+j8n-c5',
  ],
  [
    'zeep.exceptions.Fault: Authentication failed. Last sent envelope:\n<soap-env:Header><wsse:Security><wsse:UsernameToken>\n  <wsse:Username>acme_edi</wsse:Username>\n  <wsse:Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText">§</wsse:Password>\n</wsse:UsernameToken></wsse:Security></soap-env:Header>',
    'Lark$pur-9920',
  ],
  [
    'kubernetes.utils.create_from_yaml.FailToCreateError: Error from server (Conflict)\napiVersion: v1\nkind: Secret\nmetadata: {name: db-auth, namespace: prod}\ntype: Opaque\ndata:\n  PGUSER: YmlsbGluZw==\n  PGPASSWORD: §',
    'bWFnZW50YS1PdHRlci00NDcx',
  ],
  [
    'RuntimeError: backup failed (exit 2): mysqldump -h db3 -u backup -p§ --single-transaction shop | gzip > /backups/shop.sql.gz',
    'Nettle42Drum',
  ],
  [
    `ERROR deploy.hooks shell=True cmd="curl -sS -u 'nexus-ci:§' -T dist/app.whl https://nexus.acme.io/repository/pypi/" rc=22`,
    'basalt~Finch~08',
  ],
  [
    "sqlalchemy.exc.ProgrammingError: (psycopg2.errors.DuplicateObject) role \"tenant_418\" already exists\n[SQL: CREATE ROLE tenant_418 LOGIN PASSWORD '§' VALID UNTIL '2026-01-01']",
    'iv0ry-Kestrel-tenant',
  ],
  [
    "ValueError: Could not deserialize key data. pem=b'-----BEGIN PRIVATE KEY-----\\n§\\n-----END PRIVATE KEY-----\\n'",
    'MC4CAQAwBQYDK2VwBCIEIHq7Zt0Lw9XcVbN3mKdPfRgYsUeJa2oTi5hQxWz8kE4B',
  ],
  [
    'django.db.utils.IntegrityError: duplicate key value violates unique constraint "accounts_user_email_key"\nDETAIL:  Failing row contains (8812, §, null, f, jo.ruiz, jo@acme.io, 2024-05-02).',
    'pbkdf2_sha256$600000$x7Kd2mQp9LwZ0aRt$Vn4cJmY0eTq8LsHw2XzRk7PdBf5GuIo3NyEa1Wt6S9M=',
  ],
  [
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ChargeIn\nexp_month\n  Input should be less than or equal to 12 [type=less_than_equal, input_value=17, input_type=int]\ncelery.app.trace payload: card_number='§' holder='M DUPONT' exp=17/27",
    '4539 5787 6362 1486',
  ],
  [
    `sepaxml.exceptions: KeyError('BIC') while adding payment {'name': 'Ines Vogel', 'IBAN': '§', 'amount': 129900, 'type': 'RCUR', 'mandate_id': 'M-2231'}`,
    'DE44500105175407324931',
  ],
  [
    `Task hr.tasks.file_w2[5b1d0c2e-7f0b-4c36-9a4e-3f0a7d3c1b55] raised unexpected: ValueError("bad employee record: Employee(id=77, last_name='Okafor', ssn='§', state='ID')")`,
    '518-63-2094',
  ],
  [
    `ImproperlyConfigured: settings.DATABASES improperly configured: {'default': {'ENGINE': 'django.db.backends.oracle', 'NAME': 'ORCL', 'USER': 'hr', 'PASSWORD': "§", 'OPTIONS': {'threaded': True}}}`,
    `d'Arc_Thistle3`,
  ],
  [
    `TypeError: Object of type TwilioConfig is not JSON serializable: TwilioConfig(account_sid='AC0f3b7a91c2d84e56b1a09f7e3c5d2846', auth_token='§', from_='+15005550006')`,
    '7d1e90b4c3a85f62e0d9b17a4c68f352',
  ],
  [
    '{"level": "error", "logger": "crm.oauth", "status": 400, "request": {"url": "https://login.example.com/oauth/token", "body": "{\\"grant_type\\": \\"refresh_token\\", \\"client_id\\": \\"crm-sync\\", \\"refresh_token\\": \\"§\\"}"}}',
    'rt-Xv82LqPz0MnTw5KdYc71',
  ],
  [
    'google.auth.exceptions.DefaultCredentialsError: could not parse GOOGLE_CREDENTIALS_B64=§: missing fields token_uri',
    'eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCIsICJwcm9qZWN0X2lkIjogImFjbWUtcHJvZCIsICJjbGllbnRfZW1haWwiOiAiZXRsQGFjbWUtcHJvZC5pYW0uZ3NlcnZpY2VhY2NvdW50LmNvbSIsICJwcml2YXRlX2tleV9pZCI6ICI0YmUxZjA3YzlkIiwgImNsaWVudF9zZWNyZXQiOiAianVuaXBlci1WYWxlLTY2MTMifQ==',
  ],
  [
    'azure.core.exceptions.ServiceRequestError: failed with conn_str DefaultEndpointsProtocol=https;AccountName=acmeblob;AccountKey=§;EndpointSuffix=core.windows.net',
    'Zk3Vt9QwLx7RmPd0YcJh5UbNe2SgTf8KaIoXq4WzMv1BnCr6EyDuHj+GsLp/iFtOa7Kw2RxZm9QvYd0TcPbNhA==',
  ],
  [
    `aiohttp.client_exceptions.ClientResponseError: 429, message='Too Many Requests', url=URL('https://api.telegram.org/bot§/sendMessage?chat_id=-1001')`,
    `6183047295:AA${some(33)}`,
  ],
  [
    `Task accounts.tasks.send_reset[e1c7] retry: Retry in 30s: kwargs={'user_id': 5120, 'template': 'reset', 'ctx': {'reset_url': 'https://app.acme.io/password/reset/NTEyMA/§/confirm'}}`,
    'c6n1kz-8f0b2d7e41a95c36d2e0',
  ],
  [
    `http.client.RemoteDisconnected: Remote end closed connection; sent headers [('Content-Type', 'application/json'), ('X-Vault-Token', '§'), ('X-Vault-Namespace', 'team-a')]`,
    `hvs.${some(24)}`,
  ],
  [
    `ERROR payments.paypal_nvp POST https://api-3t.paypal.com/nvp body=b'METHOD=RefundTransaction&VERSION=204&USER=seller_api1.acme.io&PWD=§&TRANSACTIONID=9XJ31' ack=Failure L_ERRORCODE0=10002`,
    'QX7RLM29ZK4TWP8D',
  ],
];
