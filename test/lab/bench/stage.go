package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// These are the user agents of the benchmark's own requests.
const (
	stageAgent   = "bench"
	floorAgent   = "bench-floor"
	foreignAgent = "bench-foreign"
)

// stage is a cluster with an operator. A single goroutine uses it. The thread of this goroutine lasts longer than the
// stage: it is the main thread, or a thread of a comparison.
type stage struct {
	cluster    *testcluster.Cluster
	admin      client.Client
	foreign    dynamic.Interface
	bare       dynamic.Interface
	components *tracker
	operator   *operator
	kubeconfig string
	log        string
	namespaces int
	stageOptions
}

// stageOptions are the options of a stage.
type stageOptions struct {
	// program is the path of the operator's executable.
	program string
	// profiles is the folder for profiles. If it is empty, no profiles are taken.
	profiles string
	// anyStatus allows operators of other versions to write status fields that the definition of this version does not
	// have.
	anyStatus bool
}

// newStage boots a cluster and starts the operator. The operator ends with the context. The caller must stop the stage.
func newStage(ctx context.Context, o stageOptions) (*stage, error) {
	cluster, err := testcluster.Start(ctx, testcluster.Options{Audit: true})
	if err != nil {
		return nil, err
	}
	s := &stage{cluster: cluster, stageOptions: o, log: filepath.Join(filepath.Dir(cluster.Kubeconfig()), "operator.log")}
	if err := s.furnish(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *stage) furnish(ctx context.Context) error {
	admin, identity, err := program.Furnish(ctx, s.cluster, stageAgent)
	if err != nil {
		return err
	}
	s.admin, s.kubeconfig = admin, identity.Kubeconfig
	if s.anyStatus {
		if err := allowAnyStatus(ctx, admin); err != nil {
			return err
		}
	}
	if s.foreign, err = dynamic.NewForConfig(s.as(foreignAgent)); err != nil {
		return err
	}
	// The bare client has the same identity as the operator, because authorisation also takes time in the API server.
	bare := rest.CopyConfig(identity.Config)
	bare.UserAgent = floorAgent
	if s.bare, err = dynamic.NewForConfig(bare); err != nil {
		return err
	}
	if s.components, err = track(ctx, s.as(stageAgent), s.admin.Scheme()); err != nil {
		return err
	}
	return s.startOperator(ctx)
}

// as returns the administrator's configuration with the given user agent and without a rate limit.
func (s *stage) as(agent string) *rest.Config {
	c := s.cluster.Config()
	c.UserAgent = agent
	return c
}

// startOperator starts the operator and waits until it holds the Lease.
func (s *stage) startOperator(ctx context.Context) error {
	o, err := launch(s.program, s.kubeconfig, s.log)
	if err != nil {
		return err
	}
	s.operator = o
	return program.WaitForLease(ctx, s.admin)
}

// stopOperator ends the operator by SIGTERM, like the kubelet.
func (s *stage) stopOperator() error {
	if s.operator == nil {
		return nil
	}
	o := s.operator
	s.operator = nil
	return o.stop()
}

func (s *stage) stop() error {
	return errors.Join(s.stopOperator(), s.cluster.Stop())
}

// lastWords keeps the logs of a failed stage. It returns their folder and the end of the operator's log.
func (s *stage) lastWords() string {
	folder := s.cluster.KeepLogs()
	if _, err := os.Stat(s.log); err != nil {
		return "logs: " + folder
	}
	return fmt.Sprintf("logs: %s, the operator's is %s", folder, filepath.Base(s.log))
}

// newNamespace creates a namespace for a measurement.
func (s *stage) newNamespace(ctx context.Context) (string, error) {
	s.namespaces++
	name := fmt.Sprintf("%s%d", ownPrefix, s.namespaces)
	return name, s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}
