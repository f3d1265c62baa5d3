package target

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ParseKubeconfig reads a kubeconfig of a user. It returns an error if the kubeconfig names files or programs of the
// operator. Errors never quote the content of the kubeconfig, because it contains credentials.
func ParseKubeconfig(data []byte) (*rest.Config, error) {
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
	return result, nil
}

func checkServer(c *clientcmdapi.Cluster) error {
	server, err := url.Parse(c.Server)
	switch {
	case err != nil, server.Host == "", !slices.Contains([]string{"http", "https"}, server.Scheme):
		return errors.New("the server of the cluster is not a URL that begins with https://")
	case server.User != nil:
		return errors.New("the server of the cluster contains a password; move the password to the user")
	case c.CertificateAuthority != "":
		return onDisk("certificate-authority", "certificate-authority-data")
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
	return nil
}

func onDisk(field, instead string) error {
	return fmt.Errorf("%s names a file, but components must not use files of the operator; use %s", field, instead)
}

func notRun(field string) error {
	return fmt.Errorf("%s would run a program in the operator; use a token, or a client certificate", field)
}
