package cluster

import (
	"fmt"
	"strings"

	nodestage "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podstage "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

const (
	// serviceRange is a large range, because load tests create more Services than a /24 range has addresses.
	serviceRange = "10.96.0.0/12"
	// podRange contains the addresses of fake pods, and nodeAddress is the address of all fake nodes. Nothing listens on
	// these addresses. They are not loopback addresses, because the API server refuses loopback addresses in endpoints.
	podRange    = "10.128.0.0/16"
	nodeAddress = "10.127.0.1"
)

// auditPolicy logs each request once, after its response. Watches are also logged when they start.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// ports are the ports on which the components listen.
type ports struct {
	etcdClient, etcdPeer, apiServer port
}

func etcdArguments(folder Folder, ports ports) []string {
	client, peer := ports.etcdClient.url("http"), ports.etcdPeer.url("http")
	return []string{
		"--name=" + supervisor,
		"--data-dir=" + folder.file(etcdFolder),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + supervisor + "=" + peer,
		"--socket-reuse-port",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func apiServerArguments(folder Folder, ports ports, config Config) []string {
	arguments := []string{
		"--etcd-servers=" + ports.etcdClient.url("http"),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--secure-port=" + ports.apiServer.String(),
		"--permit-port-sharing",
		// The endpoint of the API server's own Service would be a loopback address, which the API server refuses.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		"--tls-cert-file=" + folder.file(pkiFolder, "apiserver.crt"),
		"--tls-private-key-file=" + folder.file(pkiFolder, "apiserver.key"),
		"--client-ca-file=" + folder.file(pkiFolder, "ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + folder.file(pkiFolder, "service-accounts.crt"),
		"--service-account-signing-key-file=" + folder.file(pkiFolder, "service-accounts.key"),
		"--requestheader-client-ca-file=" + folder.file(pkiFolder, "front-proxy-ca.crt"),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + folder.file(pkiFolder, "front-proxy-client.crt"),
		"--proxy-client-key-file=" + folder.file(pkiFolder, "front-proxy-client.key"),
	}
	if config.Audit {
		arguments = append(arguments,
			"--audit-policy-file="+folder.file(auditPolicyFile),
			"--audit-log-path="+folder.file(auditLogFile),
			// The log is not rotated, so that readers find all requests in one file.
			"--audit-log-maxsize=100000",
		)
	}
	if config.Echo {
		arguments = append(arguments, "--egress-selector-config-file="+folder.file(egressFile))
	}
	if config.NoControllers {
		// Without controllers no service accounts are created, and this plugin would refuse all pods.
		arguments = append(arguments, "--disable-admission-plugins=ServiceAccount")
	}
	return arguments
}

func controllerManagerArguments(folder Folder) []string {
	return []string{
		"--kubeconfig=" + folder.file(componentKubeconfig(ControllerManager)),
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + folder.file(pkiFolder, "service-accounts.key"),
		"--root-ca-file=" + folder.file(pkiFolder, "ca.crt"),
		"--cluster-signing-cert-file=" + folder.file(pkiFolder, "ca.crt"),
		"--cluster-signing-key-file=" + folder.file(pkiFolder, "ca.key"),
		// The default limits protect a shared API server, and would only slow down tests.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-gc-syncs=20",
		"--concurrent-namespace-syncs=10",
		// The fake nodes never fail, but their leases can expire while an API server restarts. Then the controller manager
		// would mark their pods as not ready permanently, because kwok makes a pod ready only once.
		"--node-monitor-grace-period=24h",
	}
}

func schedulerArguments(folder Folder) []string {
	return []string{
		"--kubeconfig=" + folder.file(componentKubeconfig(Scheduler)),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

func kwokArguments(folder Folder) []string {
	return []string{
		"--kubeconfig=" + folder.file(componentKubeconfig(Kwok)),
		"--config=" + folder.file(kwokFolder, "stages.yaml"),
		"--manage-all-nodes",
		"--cidr=" + podRange,
		"--node-ip=" + nodeAddress,
		"--node-lease-duration-seconds=40",
	}
}

// egressConfiguration sends connections to Services to a unix socket.
const egressConfiguration = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds: {udsName: %q}
`

// writeConfigurations writes the configuration files that the arguments name, except credentials.
func writeConfigurations(folder Folder, config Config) error {
	if config.Echo {
		text := fmt.Sprintf(egressConfiguration, folder.file(echoSocket))
		if err := folder.write([]byte(text), egressFile); err != nil {
			return err
		}
	}
	if err := folder.write([]byte(auditPolicy), auditPolicyFile); err != nil {
		return err
	}
	stages := []string{
		nodestage.DefaultNodeInit,
		podstage.DefaultPodReady,
		podstage.DefaultPodComplete,
		podstage.DefaultPodDelete,
	}
	if err := folder.write([]byte(strings.Join(stages, "\n---\n")), kwokFolder, "stages.yaml"); err != nil {
		return fmt.Errorf("stages of fake nodes and pods: %w", err)
	}
	return nil
}
