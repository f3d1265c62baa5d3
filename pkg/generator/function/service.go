package function

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
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// DefaultTimeout is the default of Service.Timeout.
const DefaultTimeout = 10 * time.Second

// maxHeaderBytes is the maximum size of a response header.
const maxHeaderBytes = 64 << 10

// Service is the address of a function, and the credentials for it.
type Service struct {
	// URL is the http or https URL of the function.
	URL string
	// CA contains the CA certificates, in PEM form, that the certificate of the service is verified with. If it is empty,
	// the CA certificates of the system are used.
	CA []byte
	// Token is a bearer token. If it is empty, no token is sent. Surrounding white space is removed.
	Token string
	// Certificate and Key are the client certificate and its key, in PEM form. If they are empty, no client certificate is
	// used.
	Certificate, Key []byte
	// Timeout is the maximum duration of a call; DefaultTimeout if zero. A call occupies a worker.
	Timeout time.Duration
	// Items are the references whose contents are sent to the function.
	Items []generator.Reference
}

// endpoint is a validated Service.
type endpoint struct {
	url *url.URL
	// name is the URL without parts that may be secret.
	name    string
	token   string
	timeout time.Duration
	tls     *tls.Config
}

// endpoint validates a service. Errors quote neither the token nor the key.
func (s Service) endpoint() (*endpoint, error) {
	target, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		url: target, name: (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String(),
		token: strings.TrimSpace(s.Token), timeout: s.Timeout, tls: &tls.Config{MinVersion: tls.VersionTLS12},
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
func (e *endpoint) secure(s Service) error {
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
func (e *endpoint) client() (client *http.Client, done func()) {
	transport := &http.Transport{
		TLSClientConfig: e.tls, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}
