package boottest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestAClusterRunsWorkloads(t *testing.T) {
	cluster := up(t, "--nodes", "2")
	if !strings.Contains(cluster.ready, "2 nodes") || strings.Count(cluster.ready, "\n") != 1 {
		t.Errorf("want one line that reports two nodes, got %q", cluster.ready)
	}
	config := loadConfig(t, cluster.dir+"/kubeconfig")
	client := newClient(t, config)

	t.Run("the version is that of the modules", func(t *testing.T) {
		version, err := client.Discovery().ServerVersion()
		if err != nil || version.GitVersion != "v1.36.3" || version.Minor != "36" {
			t.Errorf("got %v, %v", version, err)
		}
	})
	t.Run("a Deployment becomes available and a Job completes", func(t *testing.T) { testWorkloads(t, client) })
	t.Run("a user has the rights that RBAC grants", func(t *testing.T) { testUser(t, cluster) })
	t.Run("an aggregated API of a program on this machine is served", func(t *testing.T) { testAggregation(t, config) })
	t.Run("a webhook on this machine is called", func(t *testing.T) { testWebhook(t, client) })
	t.Run("the folder of a running cluster is refused to a second cluster", func(t *testing.T) {
		testSecondStart(t,
			cluster)
	})

	if code := cluster.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("want exit code 0, got %d", code)
	}
	if left := cluster.components(t); len(left) != 0 {
		t.Errorf("processes of the cluster still run: %v", left)
	}
}

func TestAKilledSupervisorLeavesNoProcess(t *testing.T) {
	cluster := up(t, "--nodes", "1", "--audit")
	components := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
	if running := slices.Sorted(slices.Values(cluster.components(t))); !slices.Equal(running, components) {
		t.Errorf("want %v, got %v", components, running)
	}
	if code := cluster.end(t, syscall.SIGKILL); code != -1 {
		t.Errorf("want a process that a signal killed, got exit code %d", code)
	}
	eventually(t, "no process is left", func() bool { return len(cluster.components(t)) == 0 })

	log, err := os.ReadFile(filepath.Join(cluster.dir, "audit.log"))
	if err != nil || !strings.Contains(string(log), `"userAgent":"devcluster"`) {
		t.Errorf("want the requests of this test in the audit log, got %d bytes, %v", len(log), err)
	}
}

func testWorkloads(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	labels := map[string]string{"app": "ferry"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ferry", Image: "ferry"}}},
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "ferry"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := newJob("crossing", template)
	if _, err := client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is available", func() bool {
		live, err := client.AppsV1().Deployments("default").Get(ctx, "ferry", metav1.GetOptions{})
		return err == nil && live.Status.AvailableReplicas == 1
	})
	eventually(t, "the Job is complete", func() bool {
		live, err := client.BatchV1().Jobs("default").Get(ctx, "crossing", metav1.GetOptions{})
		return err == nil && live.Status.Succeeded == 1
	})
}

func testUser(t *testing.T, cluster supervisor) {
	kubeconfig, err := exec.Command(binary(t), "user", "--dir", cluster.dir, "--name", "joe", "--group", "crew", "--group",
		"deck").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, loadConfig(t, path))

	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if user := review.Status.UserInfo; user.Username != "joe" || !slices.Equal(user.Groups,
		[]string{"crew", "deck", "system:authenticated"}) {
		t.Errorf("want the user joe in his groups, got %v", user)
	}
	if _, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want a Forbidden error for the list of Secrets, got %v", err)
	}
}

func testSecondStart(t *testing.T, cluster supervisor) {
	second := exec.Command(binary(t), "up", "--dir", cluster.dir)
	output, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != 2 || strings.Count(string(output), "\n") != 1 {
		t.Errorf("want exit code 2 and one line, got %d and %q", code, output)
	}
	if _, err := os.Stat(filepath.Join(cluster.dir, "kubeconfig")); err != nil {
		t.Errorf("the second start removed files of the running cluster: %v", err)
	}
}

func loadConfig(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func newClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
