package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// nodes is the number of fake nodes of the cluster.
const nodes = 3

// namespace is the namespace of the demo's components.
const namespace = "demo"

// operatorLog is the name of the operator's log in the folder of the cluster.
const operatorLog = "operator.log"

// play is what happens in the cluster.
type play struct {
	run func(context.Context, *world) error
	// outlivesOperator keeps the cluster if the operator ends by itself after it has become ready.
	outlivesOperator bool
}

// world holds the clients and paths that the steps of the demo use.
type world struct {
	*narrator
	cluster *testcluster.Cluster
	// admin is the client for the checks, and for the actions of the platform team.
	admin client.WithWatch
	// developer is the path of the kubeconfig of a user with edit rights in the namespace, including its components.
	developer string
	// operator is the operator as it was started.
	operator *operator
}

// stage starts the cluster and the operator, runs the play, and stops them. If the play fails, stage keeps the logs and
// prints the end of the operator's log.
func stage(ctx context.Context, n *narrator, p play) (err error) {
	if _, err := os.Stat(program.OperatorBinary); err != nil {
		return fmt.Errorf("%w; run 'make build', and then this program from the project's root", err)
	}
	// Only the dev cluster has nodes.
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return err
	}
	cluster, err := bootCluster(ctx, n)
	if err != nil {
		return program.CauseOf(ctx, err)
	}
	log := filepath.Join(filepath.Dir(cluster.Kubeconfig()), operatorLog)
	defer func() {
		if err != nil && !errors.Is(err, program.ErrInterrupted) {
			n.say("The logs are in %s. The log of the operator ends with:", cluster.KeepLogs())
			program.Tail(log, n.output())
		}
		err = errors.Join(err, cluster.Stop())
	}()
	admin, err := install(ctx, n, cluster)
	if err != nil {
		return program.CauseOf(ctx, err)
	}
	served, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o, err := startOperator(served, n, operatorSettings{cluster: cluster, admin: admin, log: log, ended: cancel})
	if err != nil {
		return program.CauseOf(served, err)
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	if !p.outlivesOperator {
		ctx = served
	}
	developer, err := welcomeDeveloper(ctx, cluster, admin)
	if err != nil {
		return program.CauseOf(ctx, err)
	}
	w := &world{narrator: n, cluster: cluster, admin: admin, developer: developer, operator: o}
	return program.CauseOf(ctx, p.run(ctx, w))
}

func bootCluster(ctx context.Context, n *narrator) (*testcluster.Cluster, error) {
	n.step(
		fmt.Sprintf(
			"Boot a Kubernetes cluster with %d fake nodes: their pods become ready without running containers",
			nodes,
		),
	)
	n.command("bin/devcluster up --dir DIR --nodes", fmt.Sprint(nodes), "--audit", "--cloud", "--echo")
	watch := startWatch()
	cluster, err := testcluster.Start(ctx, testcluster.Options{Nodes: nodes, Audit: true, Cloud: true, Echo: true})
	if err != nil {
		return nil, err
	}
	version, err := serverVersion(cluster)
	if err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	n.held(watch.elapsed(), "Kubernetes %s is up", version)
	return cluster, nil
}

func serverVersion(cluster *testcluster.Cluster) (string, error) {
	c, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	if err != nil {
		return "", err
	}
	version, err := c.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// install installs the type Component and the operator's rights, as an administrator does once.
func install(ctx context.Context, n *narrator, cluster *testcluster.Cluster) (client.WithWatch, error) {
	n.step("Install the Component type, and the rights of the operator")
	n.command("kubectl apply -f config/crd -f config/rbac")
	watch := startWatch()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	admin, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := config.Install(ctx, admin); err != nil {
		return nil, err
	}
	n.held(watch.elapsed(), "the type Component is served")
	return admin, nil
}

// welcomeDeveloper creates a namespace, and a user with edit rights in it, which are sufficient for the command line.
// It returns the path of a kubeconfig with this namespace as default.
func welcomeDeveloper(ctx context.Context, cluster *testcluster.Cluster, admin client.Client) (string, error) {
	const name = "dana"
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	for _, role := range []string{"edit", "fairlead-components-editor"} {
		objects = append(objects, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		})
	}
	for _, object := range objects {
		if err := admin.Create(ctx, object); err != nil {
			return "", err
		}
	}
	user, err := cluster.User(ctx, name)
	if err != nil {
		return "", err
	}
	kubeconfig, err := clientcmd.LoadFromFile(user.Kubeconfig)
	if err != nil {
		return "", err
	}
	for _, kubecontext := range kubeconfig.Contexts {
		kubecontext.Namespace = namespace
	}
	return user.Kubeconfig, clientcmd.WriteToFile(*kubeconfig, user.Kubeconfig)
}
