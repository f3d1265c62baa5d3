package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// reconciler is the name of the operator's reconciler.
	reconciler = "fairlead.io"
	// namespace is the namespace of the components.
	namespace = "soak"
	// identityName is the service account that some components act as. settingsName is the ConfigMap that some components
	// read.
	identityName = "writer"
	settingsName = "settings"
	// kubeconfigName is the Secret with the kubeconfig that some components use. It leads to the components' own cluster.
	kubeconfigName = "kubeconfig"
	// definedGroup is the group of the types that components define.
	definedGroup = "soak.example.com"
)

// world contains a cluster, its operator, and the state of a run. Only the goroutine of the main thread uses it.
type world struct {
	settings

	random  *rand.Rand
	cluster *testcluster.Cluster
	admin   client.Client
	// kubeconfig is the path of the operator's kubeconfig.
	kubeconfig, log string
	operator        *operator
	// died receives the error if an operator ends although the test did not stop it.
	died chan error
	// killing is set if the operator may be killed.
	killing bool
	// population contains the components that should exist, by name. named is the number of names and values that were
	// generated so far.
	population map[string]*component
	named      int
	// done counts the operations by name. requests counts the operator's requests by kind.
	done, requests counts
	// spilled is the maximum number of inventories in Secrets at any check.
	spilled int
	// watches are the operator's open watches. lastRequest is the time at which the operator was last seen to send another
	// request.
	watches       testcluster.Events
	lastRequest   time.Time
	before, after holdings
}

// newWorld boots a cluster and starts the operator. The caller must call end.
func newWorld(ctx context.Context, of settings) (*world, error) {
	// The dev cluster is necessary, because pods must become ready and the API server must be restarted.
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return nil, err
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{Nodes: 1, Audit: true})
	if err != nil {
		return nil, err
	}
	w := &world{
		settings: of, random: rand.New(rand.NewPCG(of.seed, 0)), cluster: cluster, log: logBeside(cluster.Kubeconfig()),
		died: make(chan error, 1), population: map[string]*component{}, done: counts{}, requests: counts{},
	}
	if err := w.furnish(ctx); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

func (w *world) furnish(ctx context.Context) error {
	admin, identity, err := program.Furnish(ctx, w.cluster, "soak")
	if err != nil {
		return err
	}
	w.admin, w.kubeconfig = admin, identity.Kubeconfig
	content, err := os.ReadFile(identity.Kubeconfig)
	if err != nil {
		return err
	}
	for _, object := range scenery(content) {
		if err := w.admin.Create(ctx, object); err != nil {
			return err
		}
	}
	return w.startOperator()
}

// scenery returns the objects that components need in addition to their own.
func scenery(kubeconfig []byte) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: named(identityName)},
		&rbacv1.RoleBinding{
			ObjectMeta: named(identityName),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: identityName}},
		},
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{
				Name:   definedGroup,
				Labels: map[string]string{reconciler + "/aggregate-to-operator": "true"},
			},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{definedGroup}, Resources: []string{"*"}, Verbs: all}},
		},
		&corev1.Secret{ObjectMeta: named(kubeconfigName), Data: map[string][]byte{"value": kubeconfig}},
		&corev1.ConfigMap{
			ObjectMeta: named(settingsName),
			Data:       map[string]string{"text": "first", "values.yaml": "read: first"},
		},
	}
}
