package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/pki"
)

const (
	// mastersGroup is a group with all rights, for which RBAC rules are not evaluated.
	mastersGroup   = "system:masters"
	frontProxyUser = "front-proxy-client"
	clusterCAName  = "cluster-ca"
	// kubernetesServiceIP is the first address of serviceRange. The API server assigns it to its own Service.
	kubernetesServiceIP = "10.96.0.1"
)

// writeCredentials writes all keys, certificates and kubeconfigs of a cluster. server is the address of its API server.
func writeCredentials(folder Folder, server string) error {
	authority, err := pki.NewAuthority(clusterCAName)
	if err != nil {
		return err
	}
	if err := writeServerCredentials(folder, authority); err != nil {
		return err
	}
	identities := []struct {
		path   string
		user   string
		groups []string
	}{
		{kubeconfigFile, "admin", []string{mastersGroup}},
		{componentKubeconfig(ControllerManager), "system:kube-controller-manager", nil},
		{componentKubeconfig(Scheduler), "system:kube-scheduler", nil},
		{componentKubeconfig(Kwok), Kwok, []string{mastersGroup}},
		{componentKubeconfig(supervisor), supervisor, []string{mastersGroup}},
	}
	for _, identity := range identities {
		content, err := newKubeconfig(authority, server, identity.user, identity.groups...)
		if err != nil {
			return err
		}
		if err := folder.write(content, identity.path); err != nil {
			return err
		}
	}
	return nil
}

func componentKubeconfig(component string) string {
	return filepath.Join(pkiFolder, component+".kubeconfig")
}

// writeServerCredentials writes the keys and certificates that the API server and the controller manager use to serve,
// to sign and to verify.
func writeServerCredentials(folder Folder, authority pki.Authority) error {
	serving, err := authority.Server(APIServer, loopback, "localhost", kubernetesServiceIP,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	// The API server trusts the user headers of every client with a certificate of this authority. So another authority
	// signs the certificates of users.
	frontProxy, err := pki.NewAuthority("front-proxy-ca")
	if err != nil {
		return err
	}
	frontProxyClient, err := frontProxy.Client(frontProxyUser)
	if err != nil {
		return err
	}
	serviceAccounts, err := pki.NewKeyPair()
	if err != nil {
		return err
	}
	for name, pair := range map[string]pki.Pair{
		"ca":                 authority.Pair,
		"apiserver":          serving,
		"front-proxy-ca":     frontProxy.Pair,
		"front-proxy-client": frontProxyClient,
		"service-accounts":   serviceAccounts,
	} {
		err := errors.Join(
			folder.write(pair.Certificate, pkiFolder, name+".crt"),
			folder.write(pair.Key, pkiFolder, name+".key"),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// UserKubeconfig returns a kubeconfig for the cluster in dir, with a new client certificate for the given user and
// groups.
func UserKubeconfig(dir, user string, groups ...string) ([]byte, error) {
	if user == "" {
		return nil, NewUsageError("--name is missing; try 'devcluster user --help'")
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, kubeconfigFile))
	if err != nil {
		return nil, NewUsageError("folder %s does not contain a cluster: %v", dir, err)
	}
	authority, err := readAuthority(dir)
	if err != nil {
		return nil, err
	}
	return newKubeconfig(authority, config.Host, user, groups...)
}

func readAuthority(dir string) (pki.Authority, error) {
	certificate, err := os.ReadFile(filepath.Join(dir, pkiFolder, "ca.crt"))
	if err != nil {
		return pki.Authority{}, fmt.Errorf("read the cluster's certificate authority: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(dir, pkiFolder, "ca.key"))
	if err != nil {
		return pki.Authority{}, fmt.Errorf("read the cluster's certificate authority: %w", err)
	}
	return pki.LoadAuthority(pki.Pair{Certificate: certificate, Key: key})
}

// newKubeconfig returns a kubeconfig that contains all credentials and names no other file.
func newKubeconfig(authority pki.Authority, server, user string, groups ...string) ([]byte, error) {
	client, err := authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	const name = "devcluster"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: server, CertificateAuthorityData: authority.Certificate},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			user: {ClientCertificateData: client.Certificate, ClientKeyData: client.Key},
		},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %q: %w", user, err)
	}
	return content, nil
}
