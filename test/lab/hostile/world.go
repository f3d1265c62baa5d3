package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// release is the name of the chart's release, and so of the operator's objects.
	release = "fairlead-operator"
	// account is the service account of components, by default.
	account = "fairlead"
	// chartFolder is the operator's chart, from the project's root.
	chartFolder = "config/chart"
	// goodNamespace and hostileNamespace are the namespaces of the tenants.
	goodNamespace    = "good"
	hostileNamespace = "hostile"
)

// world contains a cluster, its operator, and both tenants.
type world struct {
	settings

	cluster *testcluster.Cluster
	admin   client.Client
	// kubeconfig is the path of the operator's kubeconfig, and log the path of its log.
	kubeconfig, log string
	// arguments are the flags that the chart sets for the operator.
	arguments []string
	operator  *operator
	servers   *servers
	good      *goodTenant
	attacker  *attacker
	// before and after are the live heap of the operator, in bytes, before the attacks and after them.
	before, after float64

	mu    sync.Mutex
	wrong []string
}

// newWorld boots a cluster, installs the chart, and starts the operator. The caller must call end.
func newWorld(ctx context.Context, of settings) (*world, error) {
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return nil, err
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{Nodes: 1})
	if err != nil {
		return nil, err
	}
	w := &world{settings: of, cluster: cluster, log: filepath.Join(filepath.Dir(cluster.Kubeconfig()), "operator.log")}
	if err := w.furnish(ctx); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

func (w *world) furnish(ctx context.Context) error {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	if w.admin, err = client.New(w.cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := w.installChart(ctx); err != nil {
		return fmt.Errorf("install the chart: %w", err)
	}
	identity, err := program.OperatorIdentity(ctx, w.cluster)
	if err != nil {
		return err
	}
	w.kubeconfig = identity.Kubeconfig
	for _, namespace := range []string{goodNamespace, hostileNamespace} {
		if err := w.addTenant(ctx, namespace); err != nil {
			return err
		}
	}
	tenants := map[string]client.Client{}
	for _, namespace := range []string{goodNamespace, hostileNamespace} {
		user, err := w.cluster.User(ctx, "tenant-of-"+namespace)
		if err != nil {
			return err
		}
		if tenants[namespace], err = client.New(user.Config, client.Options{Scheme: scheme}); err != nil {
			return err
		}
	}
	if w.servers, err = startServers(w.cluster.Config()); err != nil {
		return err
	}
	w.good = &goodTenant{world: w, client: tenants[goodNamespace]}
	if w.attacker, err = newAttacker(ctx, w, tenants[hostileNamespace]); err != nil {
		return err
	}
	w.operator, err = startOperator(w)
	return err
}

// installChart applies the objects of the operator's chart with its default values, except the Deployment, from which
// it takes the flags.
func (w *world) installChart(ctx context.Context) error {
	chart, err := helm.New(os.DirFS(chartFolder), helm.Options{AnnotationPrefix: "fairlead.io"})
	if err != nil {
		return err
	}
	objects, err := chart.Generate(ctx, generator.Request{
		Name: release, Namespace: program.OperatorNamespace, Revision: 1,
		Capabilities: generator.Capabilities{Version: version.Info{GitVersion: "v1.36.3"}},
	})
	if err != nil {
		return err
	}
	if err := w.admin.Create(ctx, namespaceOf(program.OperatorNamespace)); err != nil {
		return err
	}
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		manifest := &unstructured.Unstructured{Object: content}
		if manifest.GetKind() == "Deployment" {
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, deployment); err != nil {
				return err
			}
			w.arguments = deployment.Spec.Template.Spec.Containers[0].Args
			continue
		}
		if err := w.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner("hostile")); err != nil {
			return fmt.Errorf("apply %s %s: %w", manifest.GetKind(), manifest.GetName(), err)
		}
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return w.admin.List(ctx, &v1alpha1.ComponentList{}) == nil, nil
	})
}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// addTenant creates a namespace with the service account of components. The account and the tenant have the role admin
// in the namespace, and the tenant may write components.
func (w *world) addTenant(ctx context.Context, namespace string) error {
	bind := func(role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role + "-" + subject.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{subject},
		}
	}
	person := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-of-" + namespace}
	components := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}
	for _, object := range []client.Object{
		namespaceOf(namespace),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}},
		bind("admin", components), bind("admin", person), bind("fairlead-components-editor", person),
		// A component may render other components.
		bind("fairlead-components-editor", components),
	} {
		if err := w.admin.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// end stops the operator, the servers and the cluster.
func (w *world) end() error {
	var errs []error
	if w.operator != nil {
		errs = append(errs, w.operator.kill())
	}
	if w.servers != nil {
		errs = append(errs, w.servers.Close())
	}
	return errors.Join(append(errs, w.cluster.Stop())...)
}

var _ io.Closer = (*servers)(nil)
