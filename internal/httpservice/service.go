package httpservice

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// DefaultTimeout is the default of Service.Timeout.
const DefaultTimeout = 10 * time.Second

// maxHeaderBytes is the maximum size of a response header.
const maxHeaderBytes = 64 << 10

// Service is the address of a service, and the credentials for it.
type Service struct {
	// URL is an http or https URL.
	URL string
	// CA contains the CA certificates in PEM form. If it is empty, the CA certificates of the system are used.
	CA []byte
	// Token is a bearer token. Surrounding white space is removed.
	Token string
	// Certificate and Key are the client certificate and its key, in PEM form.
	Certificate, Key []byte
	// Timeout is the maximum duration of a call; DefaultTimeout if zero.
	Timeout time.Duration
	// Accept is the header of this name: the media types of answers.
	Accept string
}

// Endpoint is a validated Service. It is safe for concurrent use.
type Endpoint struct {
	url     *url.URL
	name    string
	token   string
	timeout time.Duration
	accept  string
	tls     *tls.Config
}

// Name returns the URL without parts that may be secret.
func (e *Endpoint) Name() string { return e.name }

// Token returns the bearer token.
func (e *Endpoint) Token() string { return e.token }

// WithoutToken replaces the bearer token in a text of the service.
func (e *Endpoint) WithoutToken(text string) string { return WithoutToken(text, e.token) }

// WithoutToken replaces a bearer token in a text.
func WithoutToken(text, token string) string {
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, "(redacted)")
}

// Endpoint validates a service. Errors quote neither the token nor the key.
func (s Service) Endpoint() (*Endpoint, error) {
	target, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		url: target, name: (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String(),
		token: strings.TrimSpace(s.Token), timeout: s.Timeout, accept: s.Accept,
		tls: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if e.timeout <= 0 {
		e.timeout = DefaultTimeout
	}
	secured := e.token != "" || len(s.CA)+len(s.Certificate)+len(s.Key) > 0
	if secured && target.Scheme != "https" {
		return nil, errors.New("url: a CA, a token or a client certificate needs https")
	}
	if strings.ContainsFunc(e.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token: the token contains a character that an HTTP header cannot contain")
	}
	return e, e.secure(s)
}

// parseURL validates a URL. Errors do not quote it, because it may contain a password.
func parseURL(text string) (*url.URL, error) {
	target, err := url.Parse(text)
	switch {
	case err != nil, target.Host == "", target.Scheme != "http" && target.Scheme != "https":
		return nil, errors.New("url: want one such as https://render.tools.svc/v1")
	case target.User != nil, target.Fragment != "":
		return nil, errors.New("url: the URL must not contain a user, a password or a fragment; use a token")
	}
	return target, nil
}

// secure configures the trusted CA certificates and the client certificate.
func (e *Endpoint) secure(s Service) error {
	if err := bounded.Certificates(s.CA); err != nil {
		return fmt.Errorf("ca: %w", err)
	}
	if err := errors.Join(bounded.Certificates(s.Certificate), bounded.PrivateKey(s.Key)); err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	if len(s.CA) > 0 {
		e.tls.RootCAs = x509.NewCertPool()
		if !e.tls.RootCAs.AppendCertsFromPEM(s.CA) {
			return errors.New("ca: no certificate in PEM form found")
		}
	}
	if len(s.Certificate)+len(s.Key) == 0 {
		return nil
	}
	pair, err := tls.X509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	e.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// client returns an HTTP client for one call. Calls share no connections, because each uses the credentials of another
// component. The proxy in the environment is ignored. Redirects are not followed, because they would forward secrets.
func (e *Endpoint) client() (client *http.Client, done func()) {
	transport := &http.Transport{
		TLSClientConfig: e.tls, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}
