package testcluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestClusterServesAndCountsRequests(t *testing.T) {
	cluster := testcluster.StartFor(t, testcluster.Options{Audit: true, NoControllers: true})
	ctx := t.Context()

	joe, err := cluster.User(ctx, "joe", "crew")
	if err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, joe.Config, "by-joe").List(ctx, &corev1.ConfigMapList{}); !apierrors.IsForbidden(err) {
		t.Errorf("want a Forbidden error for the user joe, who has no role, got %v", err)
	}

	before, err := cluster.AuditEvents(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := before.User("joe").UserAgent("by-joe").Resource("configmaps").Verb("list").Code(403); len(got) != 1 {
		t.Errorf("want one forbidden list of joe, got %v of %v", got, before.User("joe"))
	}

	const count = 50
	admin := newClient(t, cluster.Config(), "by-admin")
	for range count {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "one-of-many-", Namespace: "default"}}
		if err := admin.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if _, err := cluster.AuditEvents(ctx); err != nil {
				t.Errorf("concurrent waits for the audit log failed: %v", err)
			}
		})
	}
	group.Wait()
	events, err := cluster.AuditEvents(ctx)
	if err != nil {
		t.Fatal(err)
	}
	created := events[len(before):].UserAgent("by-admin").Writes().Resource("configmaps.").Code(201)
	if len(created) != count {
		t.Errorf("want %d creates in the audit log, got %d", count, len(created))
	}
	for _, event := range created {
		if !event.Answered.After(event.Time) {
			t.Errorf("the audit event has the arrival time %s and the response time %s", event.Time, event.Answered)
		}
	}
	if len(events.UserAgent("testcluster-marker")) != 0 {
		t.Error("AuditEvents returned the requests that the package testcluster sent itself")
	}
}

func TestControllersCollectGarbage(t *testing.T) {
	cluster := testcluster.StartFor(t, testcluster.Options{})
	if !cluster.HasControllers {
		t.Skip("no controller manager")
	}
	ctx := t.Context()
	c := newClient(t, cluster.Config(), "garbage")

	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: "default"}}
	if err := c.Create(ctx, owner); err != nil {
		t.Fatal(err)
	}
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "dependent", Namespace: "default",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}
	if err := c.Create(ctx, dependent); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, owner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dependent is collected", func() bool {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(dependent), dependent))
	})
}

func TestStopLeavesNoProcessAndNoFile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	t.Setenv("KUBEBUILDER_ASSETS", "")
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{NoControllers: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(cluster.Kubeconfig())
	if len(processesNaming(t, dir)) == 0 {
		t.Error("no process of the running cluster was found")
	}
	for range 2 {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}
	if left := processesNaming(t, dir); len(left) != 0 {
		t.Errorf("processes of the cluster still run: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the stopped cluster still exists: %v", err)
	}
}

func TestAnEndedContextStopsTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := testcluster.Start(ctx, testcluster.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a cancelled context returned %v, want context.Canceled", err)
	}
}

func TestAStartThatIsCalledOffLeavesNoFile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := testcluster.Start(ctx, testcluster.Options{})
		ended <- err
	}()
	eventually(t, "the cluster is starting", func() bool {
		written, err := filepath.Glob(filepath.Join(os.TempDir(), "testcluster-*", "*"))
		return err == nil && len(written) > 0
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Start whose context was cancelled returned %v, want context.Canceled", err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "testcluster-*")); err != nil || len(left) > 0 {
		t.Errorf("folders and processes of the cluster remain: %v, %v", left, err)
	}
}

func TestAMissingBinaryNamesTheTarget(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module github.com/fairlead-io/fairlead\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("KUBEBUILDER_ASSETS", "")
	_, err := testcluster.Start(t.Context(), testcluster.Options{})
	if err == nil || !strings.Contains(err.Error(), "make cluster") {
		t.Errorf("want an error that names the target make cluster of the Makefile, got %v", err)
	}
}

// If the binary of the dev cluster is called by the name of a component, it runs this component. So it can be used as
// envtest's assets.
func TestEnvtestRunsItsAssets(t *testing.T) {
	useAssets(t, "etcd", "kube-apiserver", "kube-controller-manager")
	cluster := testcluster.StartFor(t, testcluster.Options{Audit: true})
	if !cluster.HasControllers {
		t.Error("HasControllers is false, although the assets contain a controller manager")
	}
	joe, err := cluster.User(t.Context(), "joe", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	account := types.NamespacedName{Namespace: "default", Name: "default"}
	eventually(t, "a controller creates a service account", func() bool {
		return newClient(t, joe.Config, "joe").Get(t.Context(), account, &corev1.ServiceAccount{}) == nil
	})
	events, err := cluster.AuditEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(events.User("joe").Resource("serviceaccounts").Code(200)) != 1 {
		t.Errorf("want one successful read of the user joe, got %v", events.User("joe"))
	}
}

// useAssets makes the dev cluster's binary the assets of envtest, with the given programs.
func useAssets(t *testing.T, programs ...string) {
	t.Helper()
	assets := t.TempDir()
	binary, err := filepath.Abs("../../bin/devcluster")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.Symlink(binary, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
}

func TestEnvtestWithoutControllersDeletesClaims(t *testing.T) {
	useAssets(t, "etcd", "kube-apiserver")
	cluster := testcluster.StartFor(t, testcluster.Options{})
	if cluster.HasControllers {
		t.Fatal("HasControllers is true without a controller manager")
	}
	c := newClient(t, cluster.Config(), "test")
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi"),
			}},
		},
	}
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
		t.Errorf("the claim still exists, with the finalizers %v: %v", claim.Finalizers, err)
	}
}

func TestEnvtestHasNoNodes(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	if _, err := testcluster.Start(t.Context(), testcluster.Options{Nodes: 1}); !errors.Is(err,
		testcluster.ErrNeedsDevCluster) {
		t.Errorf("Start of a cluster with nodes returned %v, want ErrNeedsDevCluster", err)
	}
}

func newClient(t *testing.T, config *rest.Config, userAgent string) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// processesNaming lists the processes whose command lines contain the text.
func processesNaming(t *testing.T, text string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), text) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("this did not happen within 30 s: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestARestartedAPIServerHasItsDataAndNoWatches(t *testing.T) {
	cluster := testcluster.StartFor(t, testcluster.Options{Audit: true, NoControllers: true})
	ctx := t.Context()
	config := cluster.Config()
	config.UserAgent = "restarted"
	watching, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stays", Namespace: "default"}}
	if err := watching.Create(ctx, object); err != nil {
		t.Fatal(err)
	}
	w, err := watching.Watch(ctx, &corev1.ConfigMapList{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if got, want := openWatches(t, cluster), 1; got != want {
		t.Errorf("got %d open watches, want %d", got, want)
	}
	if err := cluster.RestartAPIServer(ctx); errors.Is(err, testcluster.ErrNeedsDevCluster) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if got, want := openWatches(t, cluster), 0; got != want {
		t.Errorf("got %d open watches after the restart, want %d", got, want)
	}
	if err := newClient(t, cluster.Config(), "other").Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		t.Errorf("after the restart of the API server the object does not exist: %v", err)
	}
}

func openWatches(t *testing.T, cluster *testcluster.Cluster) int {
	t.Helper()
	_, watches, err := cluster.DrainAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(watches.UserAgent("restarted"))
}

func TestDefinitionsOfTypesThatWereNeverRequestedAreDeleted(t *testing.T) {
	cluster := testcluster.StartFor(t, testcluster.Options{NoControllers: true})
	ctx := t.Context()
	admin := newClient(t, cluster.Config(), "by-admin")
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			api := fmt.Sprintf("fleet-%d.example.com", i)
			definition := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1",
				"kind":       "CustomResourceDefinition",
				"metadata":   map[string]any{"name": "buoys." + api},
				"spec": map[string]any{
					"group": api, "scope": "Namespaced", "names": map[string]any{"kind": "Buoy", "plural": "buoys"},
					"versions": []any{map[string]any{
						"name": "v1", "served": false, "storage": true,
						"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
					}},
				},
			}}
			if err := admin.Create(ctx, definition); err != nil {
				t.Error(err)
				return
			}
			if err := admin.Delete(ctx, definition); err != nil {
				t.Error(err)
			}
			if err := cluster.AwaitDefinitionDeleted(ctx, definition.GetName()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
