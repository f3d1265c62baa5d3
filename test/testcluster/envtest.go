package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// assetsVariable is envtest's environment variable with the folder of its binaries.
const assetsVariable = "KUBEBUILDER_ASSETS"

// auditPolicy is the same policy as in the dev cluster.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// envtestCluster is a control plane of envtest, with a controller manager if the assets contain one.
type envtestCluster struct {
	environment       envtest.Environment
	controllerManager *exec.Cmd
}

func (c *Cluster) startEnvtest(assets string, options Options) error {
	if options.Nodes > 0 {
		return fmt.Errorf("%d nodes: %w", options.Nodes, ErrNeedsDevCluster)
	}
	if options.Cloud || options.Echo {
		return fmt.Errorf("a cloud, or answers of pods: %w", ErrNeedsDevCluster)
	}
	backend := &envtestCluster{}
	if options.Audit {
		if err := backend.configureAudit(c.dir); err != nil {
			return err
		}
	}
	controllerManager := filepath.Join(assets, "kube-controller-manager")
	if _, err := exec.LookPath(controllerManager); err != nil {
		c.HasControllers = false
	}
	if !c.HasControllers {
		// The finalizer of this plugin is removed by a controller only, so claims could never be deleted.
		backend.environment.ControlPlane.GetAPIServer().Configure().
			Append("disable-admission-plugins", "StorageObjectInUseProtection")
	}
	if _, err := backend.environment.Start(); err != nil {
		return errors.Join(fmt.Errorf("start envtest: %w", err), backend.stop())
	}
	if err := os.WriteFile(c.Kubeconfig(), backend.environment.KubeConfig, 0o600); err != nil {
		return errors.Join(err, backend.stop())
	}
	c.backend = backend
	if !c.HasControllers {
		return nil
	}
	if err := backend.startControllerManager(controllerManager, c.dir, c.Kubeconfig()); err != nil {
		return errors.Join(err, backend.stop())
	}
	return nil
}

func (e *envtestCluster) configureAudit(dir string) error {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("audit policy: %w", err)
	}
	e.environment.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).
		Set("audit-log-path", filepath.Join(dir, auditLogFile)).
		Set("audit-log-maxsize", "100000")
	return nil
}

func (e *envtestCluster) startControllerManager(executable, dir, kubeconfig string) error {
	log, err := os.Create(filepath.Join(dir, "kube-controller-manager.log"))
	if err != nil {
		return fmt.Errorf("log of the controller manager: %w", err)
	}
	defer func() { _ = log.Close() }() // The child process has its own file handle.

	command := exec.Command(
		executable,
		"--kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+filepath.Join(
			e.environment.ControlPlane.GetAPIServer().CertDir,
			"sa-signer.key",
		),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startOnLastingThread(command); err != nil {
		return fmt.Errorf("start the controller manager: %w", err)
	}
	e.controllerManager = command
	return nil
}

func (e *envtestCluster) user(_ context.Context, name string, groups []string) ([]byte, error) {
	user, err := e.environment.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return nil, err
	}
	return user.KubeConfig()
}

func (*envtestCluster) restartAPIServer(context.Context) (time.Time, error) {
	return time.Time{}, ErrNeedsDevCluster
}

func (e *envtestCluster) stop() error {
	if e.controllerManager != nil {
		_ = e.controllerManager.Process.Kill() // The process may have ended already.
		_ = e.controllerManager.Wait()
	}
	return e.environment.Stop()
}
