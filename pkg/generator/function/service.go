package function

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/httpservice"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// DefaultTimeout is the default of Service.Timeout.
const DefaultTimeout = httpservice.DefaultTimeout

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

// endpoint validates a service. Errors quote neither the token nor the key.
func (s Service) endpoint() (*httpservice.Endpoint, error) {
	return httpservice.Service{
		URL: s.URL, CA: s.CA, Token: s.Token, Certificate: s.Certificate, Key: s.Key, Timeout: s.Timeout,
		Accept: "application/json, application/yaml",
	}.Endpoint()
}
