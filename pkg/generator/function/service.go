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

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// DefaultTimeout is how long a call may take where a Service does not say.
const DefaultTimeout = 10 * time.Second

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 64 << 10

// Service says where a function is, and how it is reached.
type Service struct {
	// URL that is posted to, http or https.
	URL string
	// CA holds the certificates, as PEM, of which one must vouch for the service; those that the system trusts where it is empty.
	CA []byte
	// Token is a bearer token; none where it is empty. Space around it is no part of it.
	Token string
	// Certificate and Key, as PEM, are what the client presents; nothing where they are empty.
	Certificate, Key []byte
	// Timeout of a call; DefaultTimeout where it is zero. A call holds up a worker.
	Timeout time.Duration
	// Items are the references whose contents are sent.
	Items []generator.Reference
}

// endpoint is a Service that can be called.
type endpoint struct {
	url *url.URL
	// name is the URL without what could be secret.
	name    string
	token   string
	timeout time.Duration
	tls     *tls.Config
}

// endpoint checks a service. Errors quote nothing of token and key.
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
		return nil, errors.New("token: it holds a character that a header cannot carry")
	}
	return e, e.secure(s)
}

// parseURL quotes nothing of a URL: somebody may have written a password into it.
func parseURL(text string) (*url.URL, error) {
	target, err := url.Parse(text)
	switch {
	case err != nil, target.Host == "", target.Scheme != "http" && target.Scheme != "https":
		return nil, errors.New("url: want one such as https://render.tools.svc/v1")
	case target.User != nil, target.Fragment != "":
		return nil, errors.New("url: a user, a password or a fragment has no place in it; use a token")
	}
	return target, nil
}

// secure configures whom to trust, and what to present.
func (e *endpoint) secure(s Service) error {
	if len(s.CA) > 0 {
		e.tls.RootCAs = x509.NewCertPool()
		if !e.tls.RootCAs.AppendCertsFromPEM(s.CA) {
			return errors.New("ca: it holds no certificate in PEM form")
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

// client returns a client for one call. Nothing is shared between calls: they carry the credentials of different components. What a proxy in
// the environment of the operator is for, it is not for this, and redirects would carry secrets elsewhere.
func (e *endpoint) client() (client *http.Client, done func()) {
	transport := &http.Transport{
		TLSClientConfig: e.tls, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}
