package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// folderPrefix is the prefix of the names of the clusters' temporary folders.
const folderPrefix = "testcluster-"

// ErrNeedsDevCluster means that the options need features that envtest does not have. Tests can skip when they get it.
var ErrNeedsDevCluster = errors.New("needs the dev cluster; unset " + assetsVariable)

// Options configures a cluster. The zero value is an API server with the controllers of Kubernetes and without nodes,
// so pods stay pending.
type Options struct {
	// Nodes is the number of fake nodes. Pods on fake nodes become ready at once, and no containers run.
	Nodes int
	// Audit records requests for AuditEvents.
	Audit bool
	// Cloud binds claims to volumes by a default storage class, and gives addresses to Services of type LoadBalancer and
	// to Ingresses.
	Cloud bool
	// Echo answers webhooks and APIServices whose Services have ready pods: everything is admitted, and no types are
	// served.
	Echo bool
	// NoControllers disables all controllers, such as garbage collection, namespace deletion and workloads. The start is a
	// second faster.
	NoControllers bool
}

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	// HasControllers is false if there are no controllers that collect garbage, delete the contents of namespaces, or
	// create pods: with NoControllers, and under envtest without a kube-controller-manager among the assets.
	HasControllers bool

	backend   backend
	dir       string
	config    *rest.Config
	audit     auditReader
	keepLogs  atomic.Bool
	users     atomic.Int64
	stopOnce  sync.Once
	stopError error
}

// backend runs the processes of a cluster.
type backend interface {
	// user returns a kubeconfig for a user in the given groups.
	user(ctx context.Context, name string, groups []string) ([]byte, error)
	// restartAPIServer kills the API server, starts another one, and waits until it is ready. It returns the time at which
	// the previous API server had ended.
	restartAPIServer(ctx context.Context) (killed time.Time, err error)
	// stop ends all processes, and returns when they have ended.
	stop() error
}

// User is a user of the cluster.
type User struct {
	Config *rest.Config
	// Kubeconfig is the path of a file. Stop deletes the file.
	Kubeconfig string
}

// Start boots a cluster and returns when it is usable. The caller must call Stop. ctx ends only the start, not the
// cluster. If the start fails, no process is running, and the error names the folder with the logs. If ctx was
// cancelled, the folder is removed.
//
// The processes end with this process, even if it crashes; this does not hold under envtest.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	dropStaleData()
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("folder for a cluster: %w", err)
	}
	cluster := &Cluster{dir: dir, HasControllers: !options.NoControllers, audit: auditReader{open: map[string]Event{}}}
	if assets := os.Getenv(assetsVariable); assets != "" {
		err = cluster.startEnvtest(assets, options)
	} else {
		err = cluster.startDevCluster(ctx, options)
	}
	if err != nil {
		return nil, unstarted(ctx, dir, err)
	}
	cluster.config, err = loadConfig(cluster.Kubeconfig())
	if err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return cluster, nil
}

// unstarted returns the error of a failed start, with the folder of the logs. After a cancelled start it removes the
// folder.
func unstarted(ctx context.Context, dir string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.Join(err, os.RemoveAll(dir))
	}
	// Remove succeeds only if the folder is empty. Then there are no logs.
	if os.Remove(dir) == nil {
		return err
	}
	return fmt.Errorf("%w (logs in %s)", err, dir)
}

// StartFor is Start for the duration of a test or, with GinkgoTB in BeforeSuite, of a suite. It skips the test under
// -short, fails the test if the cluster does not start, and keeps the logs of a failed test.
func StartFor(t testing.TB, options Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	cluster, err := Start(t.Context(), options)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of the cluster: %s", cluster.KeepLogs())
		}
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return cluster
}

// Stop ends the cluster and removes its files, unless KeepLogs was called. Further calls have no effect and return the
// same error. The error also reports a component that had ended without being stopped.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		c.stopError = c.backend.stop()
		if c.keepLogs.Load() {
			return
		}
		if err := os.RemoveAll(c.dir); err != nil {
			c.stopError = errors.Join(c.stopError, fmt.Errorf("remove the cluster's folder: %w", err))
		}
	})
	return c.stopError
}

// RestartAPIServer kills the API server by SIGKILL, and returns when another API server with the same data is ready. It
// must not be called concurrently. Under envtest it returns ErrNeedsDevCluster.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	killed, err := c.backend.restartAPIServer(ctx)
	if err != nil {
		return fmt.Errorf("restart the API server: %w", err)
	}
	c.audit.cut(killed)
	return nil
}

// KeepLogs makes Stop keep the cluster's folder, and returns its path. In TestMain, call it if the tests have failed.
func (c *Cluster) KeepLogs() string {
	c.keepLogs.Store(true)
	return c.dir
}

// Config returns a copy of the administrator's configuration, without a client-side rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// User creates credentials for a user in the given groups. RBAC rules determine the rights of the user.
func (c *Cluster) User(ctx context.Context, name string, groups ...string) (User, error) {
	kubeconfig, err := c.backend.user(ctx, name, groups)
	if err != nil {
		return User{}, fmt.Errorf("user %q: %w", name, err)
	}
	path := filepath.Join(c.dir, "user-"+strconv.FormatInt(c.users.Add(1), 10)+".kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return User{}, fmt.Errorf("user %q: %w", name, err)
	}
	config, err := loadConfig(path)
	if err != nil {
		return User{}, err
	}
	return User{Config: config, Kubeconfig: path}, nil
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}
