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

// folderPrefix begins the names of the clusters' folders, which are temporary ones.
const folderPrefix = "testcluster-"

// ErrNeedsDevCluster tells that the options ask for what envtest cannot give. Tests may skip on it.
var ErrNeedsDevCluster = errors.New("needs the dev cluster; unset " + assetsVariable)

// Options say what to run. The zero value is an API server with the controllers of Kubernetes and no node, so pods stay
// pending.
type Options struct {
	// Nodes is the number of fake nodes. Pods on them become ready at once, and nothing is executed.
	Nodes int
	// Audit records requests for AuditEvents.
	Audit bool
	// Cloud binds claims to volumes by a default storage class, and gives addresses to Services of type LoadBalancer and
	// to Ingresses.
	Cloud bool
	// Echo answers webhooks and APIServices whose Services have ready pods: everything is admitted, and no types are
	// served.
	Echo bool
	// NoControllers leaves out garbage collection, namespace deletion, workloads and all else that controllers do: a
	// second faster.
	NoControllers bool
}

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	// HasControllers is false where nobody collects garbage, empties namespaces or makes pods: with NoControllers, and
	// under envtest without a kube-controller-manager among the assets.
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

// backend is what runs the processes.
type backend interface {
	// user returns a kubeconfig for that identity.
	user(ctx context.Context, name string, groups []string) ([]byte, error)
	// restartAPIServer kills the API server, and returns when another one is ready. It tells when the former one was
	// gone.
	restartAPIServer(ctx context.Context) (killed time.Time, err error)
	// stop returns when no process is left.
	stop() error
}

// User is an identity at the cluster.
type User struct {
	Config *rest.Config
	// Kubeconfig is the path of a file that is gone after Stop.
	Kubeconfig string
}

// Start boots a cluster and returns when it is usable. The caller must call Stop; the context ends the start, not the
// cluster. When it fails, nothing runs, and the error names the folder with the logs; where the context was cancelled
// there is none.
//
// The processes end with this one, even if it crashes; under envtest this does not hold.
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

// unstarted returns why a cluster did not start, with the folder of its logs. Of a start that was called off nothing is
// left.
func unstarted(ctx context.Context, dir string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.Join(err, os.RemoveAll(dir))
	}
	// Gone when nothing was written: then there are no logs to look at.
	if os.Remove(dir) == nil {
		return err
	}
	return fmt.Errorf("%w (logs in %s)", err, dir)
}

// StartFor is Start for the length of a test or, with GinkgoTB in BeforeSuite, of a suite. It skips under -short, ends
// the test when the cluster does not start, and keeps the logs of a failed one.
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

// Stop ends the cluster and removes its files, except for logs to keep. Further calls do nothing and return the same.
// The result tells, too, if a component had ended by itself.
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

// RestartAPIServer kills the API server, which cannot notice, and returns when another one with the same data is ready.
// One caller at a time. Under envtest it is ErrNeedsDevCluster.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	killed, err := c.backend.restartAPIServer(ctx)
	if err != nil {
		return fmt.Errorf("restart the API server: %w", err)
	}
	c.audit.cut(killed)
	return nil
}

// KeepLogs makes Stop leave the cluster's folder in place, and returns its path. In TestMain, call it when the tests
// failed.
func (c *Cluster) KeepLogs() string {
	c.keepLogs.Store(true)
	return c.dir
}

// Config returns a configuration for the administrator, without a client-side rate limit. Each call returns a copy.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// User makes credentials for a user in the given groups. What it may do, RBAC rules say.
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
