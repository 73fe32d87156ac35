/**
 * Texts as libraries raise them, in which nearly nothing is a secret. What is hidden is marked: `«…»` is a secret, and `‹…›` is none, but
 * cannot be distinguished from one; why, is stated. Texts only.
 */

export interface OrdinaryText {
  readonly of: string;
  readonly text: string;
  /** Of each `‹…›`, why it is hidden. */
  readonly because?: readonly string[];
}

const HEADER = 'Traceback (most recent call last):\n';
const CAUSED = '\nThe above exception was the direct cause of the following exception:\n\n';
const frame = (file: string, line: number, of: string, source: string): string =>
  `  File "/usr/lib/python3/dist-packages/${file}", line ${line}, in ${of}\n    ${source}\n`;

const SOURCE = 'The value of a telling name in source code may be a literal.';
const VALUE = 'It is the value of a telling name in a repr.';
const QUOTED = 'What is in quotes behind a telling name may be its value.';
const ADDRESS = 'User names in addresses are hidden with the passwords, which are shown as asterisks here.';

export const ORDINARY: readonly OrdinaryText[] = [
  {
    of: 'requests',
    text: `${HEADER}${frame('urllib3/connection.py', 198, '_new_conn', 'sock = connection.create_connection(')}           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ConnectionRefusedError: [Errno 111] Connection refused
${CAUSED}${HEADER}${frame('requests/adapters.py', 667, 'send', 'resp = conn.urlopen(')}${frame('urllib3/connectionpool.py', 841, 'urlopen', 'retries = retries.increment(')}requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.shop.example', port=8443): Max retries exceeded with url: /v1/orders/17?expand=lines (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f2d1c0b5e50>: Failed to establish a new connection: [Errno 111] Connection refused'))`,
  },
  {
    of: 'requests, with a token in the query',
    text: `${HEADER}${frame('requests/models.py', 1024, 'raise_for_status', 'raise HTTPError(http_error_msg, response=self)')}requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://api.shop.example:8443/v1/orders?access_token=«17a9c0ffee»&page=2`,
  },
  {
    of: 'urllib3',
    text: `${HEADER}${frame('urllib3/connectionpool.py', 466, '_make_request', 'self._validate_conn(conn)')}${frame('urllib3/util/ssl_.py', 474, 'ssl_wrap_socket', 'context.load_cert_chain(certfile, keyfile, key_password)')}urllib3.exceptions.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)
urllib3.exceptions.LocationParseError: Failed to parse: 'https://shop.example:port/v1', label empty or too long
urllib3.exceptions.ProxyError: ('Unable to connect to proxy', OSError('Tunnel connection failed: 407 Proxy Authentication Required'))`,
  },
  {
    of: 'httpx',
    text: `${HEADER}${frame('httpx/_auth.py', 72, 'sync_auth_flow', 'request = next(flow)')}${frame('httpx/_models.py', 829, 'raise_for_status', 'raise HTTPStatusError(message, request=request, response=self)')}httpx.HTTPStatusError: Client error '404 Not Found' for url 'https://api.shop.example:8443/users/bob@shop.example/orders'
For more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/404
httpx.ConnectTimeout: _ssl.c:989: The handshake operation timed out`,
  },
  {
    of: 'aiohttp',
    text: `${HEADER}${frame('aiohttp/connector.py', 1025, '_wrap_create_connection', 'return await self._loop.create_connection(*args, **kwargs)')}aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host api.shop.example:443 ssl:default [Connect call failed ('10.0.0.7', 443)]
aiohttp.client_exceptions.ContentTypeError: 200, message='Attempt to decode JSON with unexpected mimetype: text/html; charset=utf-8', url='http://api.shop.example:8080/?mail=bob@shop.example'
aiohttp.http_exceptions.LineTooLong: 400, message='Got more than 8190 bytes (9000) when reading Header value is too long.'`,
  },
  {
    of: 'boto3 and botocore',
    text: `${HEADER}${frame('botocore/client.py', 569, '_api_call', 'return self._make_api_call(operation_name, kwargs)')}${frame('botocore/auth.py', 418, 'add_auth', 'raise NoCredentialsError()')}${frame('botocore/tokens.py', 88, '_refresh', 'if self._should_refresh():')}botocore.exceptions.NoCredentialsError: Unable to locate credentials
botocore.errorfactory.NoSuchKey: An error occurred (NoSuchKey) when calling the GetObject operation: The specified key does not exist.
botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the PutObject operation: The provided token has expired.
botocore.exceptions.ClientError: An error occurred (SignatureDoesNotMatch) when calling the GetObject operation: The request signature we calculated does not match the signature you provided. Check your key and signing method.
botocore.exceptions.TokenRetrievalError: Error when retrieving token from sso: Token has expired and refresh failed
botocore.exceptions.ProfileNotFound: The config profile (shop) could not be found
arn:aws:secretsmanager:eu-central-1:123456789012 is not authorized to perform: secretsmanager:GetSecretValue on resource: orders/db`,
  },
  {
    of: 'google-cloud',
    text: `${HEADER}${frame('google/auth/credentials.py', 239, 'before_request', 'self._blocking_refresh(request)')}${frame('google/oauth2/credentials.py', 431, 'refresh', ') = reauth.refresh_grant(')}google.auth.exceptions.RefreshError: ('invalid_grant: Token has been expired or revoked.', {'error': 'invalid_grant', 'error_description': 'Token has been expired or revoked.'})
google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found. To set up Application Default Credentials, see https://cloud.google.com/docs/authentication/external/set-up-adc for more information.
google.api_core.exceptions.Unauthenticated: 401 Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project. [reason: "ACCESS_TOKEN_EXPIRED"
domain: "googleapis.com"
]
google.api_core.exceptions.Forbidden: 403 POST https://storage.googleapis.com/upload/storage/v1/b/shop/o?uploadType=multipart: {"error": {"code": 403, "message": "shop@shop-17.iam.gserviceaccount.com does not have storage.objects.create access to the Google Cloud Storage object."}}`,
  },
  {
    of: 'SQLAlchemy',
    text: `${HEADER}${frame('sqlalchemy/engine/default.py', 621, 'connect', 'return self.loaded_dbapi.connect(*cargs, **cparams)')}sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to server at "db.shop.example" (10.0.0.5), port 5432 failed: FATAL:  password authentication failed for user "shop"
(Background on this error at: https://sqlalche.me/e/20/e3q8)
sqlalchemy.exc.IntegrityError: (psycopg2.errors.UniqueViolation) duplicate key value violates unique constraint "users_email_key"
DETAIL:  Key (email)=(bob@shop.example) already exists.

[SQL: INSERT INTO users (email, name) VALUES (%(email)s, %(name)s) RETURNING users.id]
[parameters: {'email': 'bob@shop.example', 'name': 'bob'}]
sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached, connection timed out, timeout 30.00`,
  },
  {
    of: 'SQLAlchemy, with a password among the columns',
    text: `sqlalchemy.exc.DataError: (psycopg2.errors.StringDataRightTruncation) value too long for type character varying(64)

[SQL: INSERT INTO users (email, password) VALUES ‹(%(email)s, %(password)s) RETURNING users.id]›
[parameters: «{'email': 'bob@shop.example', 'password': 'hunter2'}]»
(Background on this error at: https://sqlalche.me/e/20/9h9h)`,
    because: ['The values of a statement may be literals.'],
  },
  {
    of: 'psycopg',
    text: `${HEADER}${frame('psycopg/connection.py', 117, 'connect', 'raise last_ex.with_traceback(None)')}psycopg.OperationalError: connection failed: connection to server at "127.0.0.1", port 5432 failed: FATAL:  database "shop" does not exist
psycopg.OperationalError: connection failed: fe_sendauth: no password supplied
psycopg.errors.UndefinedColumn: column "token" does not exist
LINE 1: SELECT id, token FROM orders WHERE token IS NULL
                   ^
psycopg.errors.ForeignKeyViolation: insert or update on table "lines" violates foreign key constraint "lines_order_id_fkey"
DETAIL:  Key (order_id)=(17) is not present in table "orders".`,
  },
  {
    of: 'redis-py',
    text: `${HEADER}${frame('redis/connection.py', 363, 'connect', 'raise ConnectionError(self._error_message(e))')}redis.exceptions.ConnectionError: Error 111 connecting to cache:6379. Connection refused.
redis.exceptions.AuthenticationError: invalid username-password pair or user is disabled.
redis.exceptions.ResponseError: WRONGPASS invalid username-password pair or user is disabled.
redis.exceptions.ResponseError: MOVED 3999 10.0.0.7:6381
redis.exceptions.LockNotOwnedError: Cannot release a lock that's no longer owned`,
  },
  {
    of: 'kombu and amqp',
    text: `${HEADER}${frame('kombu/connection.py', 472, '_reraise_as_library_errors', 'raise ConnectionError(str(exc)) from exc')}kombu.exceptions.OperationalError: [Errno 111] Connection refused
amqp.exceptions.AccessRefused: (0, 0): (403) ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.
amqp.exceptions.PreconditionFailed: Queue.declare: (406) PRECONDITION_FAILED - inequivalent arg 'x-max-priority' for queue 'orders' in vhost '/': received none but current is the value '10' of type 'signedint'
consumer: Cannot connect to amqp://‹shop:**›@rabbit:5672//: timed out.`,
    because: [ADDRESS],
  },
  {
    of: 'celery and billiard',
    text: `${HEADER}${frame('billiard/pool.py', 1264, 'mark_as_worker_lost', 'raise WorkerLostError(')}billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 17.
celery.exceptions.TimeLimitExceeded: TimeLimitExceeded(30,)
celery.exceptions.NotRegistered: 'shop.token.refresh'
Task shop.token[3f2504e0-4f89-11d3-9a0c-0305e82c3301] raised unexpected: KeyError('orders')
proj.token: celery@w1 has left
pool prefork:1@host, gevent:20@host`,
  },
  {
    of: 'pymongo',
    text: `${HEADER}${frame('pymongo/topology.py', 270, 'select_servers', 'raise ServerSelectionTimeoutError(')}pymongo.errors.ServerSelectionTimeoutError: mongo:27017: [Errno 111] Connection refused (configured timeouts: socketTimeoutMS: 20000.0ms, connectTimeoutMS: 20000.0ms), Timeout: 30s, Topology Description: <TopologyDescription id: 6650f0aa1b2c3d4e5f607182, topology_type: Unknown, servers: [<ServerDescription ('mongo', 27017) server_type: Unknown, rtt: None, error=AutoReconnect('mongo:27017: [Errno 111] Connection refused')>]>
pymongo.errors.OperationFailure: Authentication failed., full error: {'ok': 0.0, 'errmsg': 'Authentication failed.', 'code': 18, 'codeName': 'AuthenticationFailed'}
pymongo.errors.DuplicateKeyError: E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: "bob@shop.example" }, full error: {'index': 0, 'code': 11000, 'keyPattern': {'email': 1}}`,
  },
  {
    of: 'django',
    text: `${HEADER}${frame('django/core/handlers/base.py', 197, '_get_response', 'response = wrapped_callback(request, *callback_args, **callback_kwargs)')}${frame('django/middleware/csrf.py', 470, 'process_view', 'return self._reject(request, exc.reason)')}django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.
django.security.csrf: Forbidden (CSRF token missing.), Forbidden (CSRF cookie not set.)
django.urls.exceptions.NoReverseMatch: Reverse for 'password_reset' with keyword arguments '{'pk': 17}' not found. 1 pattern(s) tried: ['accounts/password_reset/\\\\Z']
django.core.exceptions.ValidationError: {'password': ‹['This password is too short. It must contain at least 8 characters.']›}
django.core.exceptions.ObjectDoesNotExist: User matching query does not exist.`,
    because: [VALUE],
  },
  {
    of: 'pydantic',
    text: `pydantic_core._pydantic_core.ValidationError: 3 validation errors for Settings
api_token
  Field required [type=missing, input_value={'host': 'shop', 'port': 80}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.9/v/missing
db.password
  String should have at least 8 characters [type=string_too_short, input_value=«'hunter2'», input_type=str]
    For further information visit https://errors.pydantic.dev/2.9/v/string_too_short
port
  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='http', input_type=str]`,
  },
  {
    of: 'jinja2',
    text: `${HEADER}${frame('jinja2/environment.py', 1301, 'render', 'self.environment.handle_exception()')}  File "templates/token.html", line 12, in template
    {{ csrf_token }}
jinja2.exceptions.UndefinedError: 'csrf_token' is undefined
jinja2.exceptions.TemplateSyntaxError: expected token 'end of print statement', got 'order'
jinja2.exceptions.TemplateNotFound: accounts/password_reset.html`,
  },
  {
    of: 'paramiko',
    text: `${HEADER}${frame('paramiko/client.py', 485, 'connect', 'self._auth(')}${frame('paramiko/pkey.py', 609, '_read_private_key', 'raise PasswordRequiredException("Private key file is encrypted")')}paramiko.ssh_exception.PasswordRequiredException: Private key file is encrypted
paramiko.ssh_exception.AuthenticationException: Authentication failed.
paramiko.ssh_exception.BadAuthenticationType: Bad authentication type; allowed types: ['publickey', 'password']
paramiko.ssh_exception.SSHException: Error reading SSH protocol banner
paramiko.ssh_exception.NoValidConnectionsError: [Errno None] Unable to connect to port 22 on 10.0.0.9`,
  },
  {
    of: 'stripe',
    text: `${HEADER}${frame('stripe/_api_requestor.py', 771, '_interpret_response', 'self.handle_error_response(')}stripe._error.AuthenticationError: Invalid API Key provided: sk_live_********************c17a
stripe._error.CardError: Request req_9fQ2kXw3: Your card was declined.
stripe._error.InvalidRequestError: Request req_9fQ2kXw3: No such customer: 'cus_Nabc17'
stripe._error.SignatureVerificationError: No signatures found matching the expected signature for payload
stripe._error.RateLimitError: Request rate limit exceeded. You can learn more about rate limits here https://stripe.com/docs/rate-limits.`,
  },
  {
    of: 'kubernetes',
    text: `kubernetes.client.exceptions.ApiException: (404)
Reason: Not Found
HTTP response body: {"kind":"Status","status":"Failure","message":"secrets ‹\\"db-auth\\"› not found","reason":"NotFound","details":{"name":"db-auth","kind":"secrets"},"code":404}`,
    because: [QUOTED],
  },
  {
    of: 'python-ldap and oauthlib',
    text: `ldap.INVALID_CREDENTIALS: ‹{'result': 49, 'desc': 'Invalid credentials'}›
oauthlib.oauth2.rfc6749.errors.InvalidGrantError: (invalid_grant) Bad Request
oauthlib.oauth2.rfc6749.errors.MissingTokenError: (missing_token) Missing access token parameter.
request body {"grant_type": "refresh_token", "client_id": "shop", "scope": "orders"}`,
    because: [VALUE],
  },
  {
    of: 'jwt and json',
    text: `jwt.exceptions.ExpiredSignatureError: Signature has expired
jwt.exceptions.InvalidTokenError: Signature has expired
jwt.exceptions.DecodeError: Not enough segments
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
  },
  {
    of: 'code of a shop',
    text: `${HEADER}  File "/srv/shop/tasks.py", line 49, in pay
    token = ‹client.fetch_token(order)›
  File "/srv/shop/tokens.py", line 12, in fetch_token
    return cache.get(f"token:‹{order}›")
  File "/srv/shop/secret_store.py", line 7, in read
    raise KeyError(name)
KeyError: 'token'`,
    because: [SOURCE, SOURCE],
  },
];
