package target

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
)

// maxKubeconfigNodes is the maximum number of maps, lists, values and keys of a kubeconfig. It is enough for a thousand
// clusters.
const maxKubeconfigNodes = 20_000

// errNoURL refuses http too: a server without TLS could be any service that the operator can reach, and gets no
// credentials.
var errNoURL = errors.New("the server of the cluster is not a URL that begins with https://")

// ParseKubeconfig reads a kubeconfig of a user. It returns an error if the kubeconfig names files or programs of the
// operator, a server without TLS, or a proxy. Errors never quote the content of the kubeconfig, because it contains
// credentials. The responses of the server are limited, and redirects are not followed, because the user chose the
// server.
func ParseKubeconfig(data []byte) (*rest.Config, error) {
	if err := bounded.YAML(data, bounded.Limits{Nodes: maxKubeconfigNodes}); err != nil {
		if limit, ok := errors.AsType[*bounded.LimitError](err); ok && !limit.Quotes {
			return nil, errors.New("the kubeconfig is refused: " + limit.Reason)
		}
		return nil, errors.New("the content is not a kubeconfig")
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		// The error of the parser may quote the content, so it is not returned.
		return nil, errors.New("the content is not a kubeconfig")
	}
	if config.CurrentContext == "" {
		return nil, errors.New("the kubeconfig has no current-context; set it")
	}
	if err := clientcmdapi.MinifyConfig(config); err != nil {
		return nil, errors.New(
			"the kubeconfig lacks the context that current-context names, or the cluster or user of that context")
	}
	for _, cluster := range config.Clusters {
		if err := checkServer(cluster); err != nil {
			return nil, err
		}
	}
	for _, user := range config.AuthInfos {
		if err := checkCredentials(user); err != nil {
			return nil, err
		}
	}
	result, err := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("the cluster or the user in the kubeconfig is incomplete, or has contradictory fields")
	}
	if result, err = transport.WithAnswerLimit(result); err != nil {
		return nil, errNoURL
	}
	return result, nil
}

func checkServer(c *clientcmdapi.Cluster) error {
	server, err := url.Parse(c.Server)
	switch {
	case err != nil, server.Host == "", server.Scheme != "https":
		return errNoURL
	case c.ProxyURL != "":
		return errors.New("proxy-url would send the requests of the operator through another server; remove proxy-url")
	case server.User != nil:
		return errors.New("the server of the cluster contains a password; move the password to the user")
	case c.CertificateAuthority != "":
		return onDisk("certificate-authority", "certificate-authority-data")
	}
	if err := bounded.Certificates(c.CertificateAuthorityData); err != nil {
		return fmt.Errorf("certificate-authority-data is refused: %w", err)
	}
	return nil
}

func checkCredentials(u *clientcmdapi.AuthInfo) error {
	switch {
	case u.Exec != nil:
		return notRun("exec")
	case u.AuthProvider != nil:
		return notRun("auth-provider")
	case u.TokenFile != "":
		return onDisk("tokenFile", "token")
	case u.ClientCertificate != "":
		return onDisk("client-certificate", "client-certificate-data")
	case u.ClientKey != "":
		return onDisk("client-key", "client-key-data")
	}
	if err := bounded.Certificates(u.ClientCertificateData); err != nil {
		return fmt.Errorf("client-certificate-data is refused: %w", err)
	}
	if err := bounded.PrivateKey(u.ClientKeyData); err != nil {
		return fmt.Errorf("client-key-data is refused: %w", err)
	}
	return nil
}

func onDisk(field, instead string) error {
	return fmt.Errorf("%s names a file, but components must not use files of the operator; use %s", field, instead)
}

func notRun(field string) error {
	return fmt.Errorf("%s would run a program in the operator; use a token, or a client certificate", field)
}
