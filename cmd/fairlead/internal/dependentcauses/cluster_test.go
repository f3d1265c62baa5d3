package dependentcauses_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// broken are objects that never become ready.
var broken = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: full}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: shop, name: known}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: full, name: known}}`,
	`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: full, name: none}, spec: {hard: {pods: "0"}}}`,
	`{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: migrate},
  spec: {template: {spec: {restartPolicy: Never, serviceAccountName: absent, containers: [{name: main, image: i}]}}}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: full, name: web},
  spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}},
    spec: {serviceAccountName: known, containers: [{name: main, image: i}]}}}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: nowhere},
  spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}},
    spec: {serviceAccountName: known, nodeSelector: {zone: nowhere}, containers: [{name: main, image: i}]}}}}`,
	`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data},
  spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: checks},
  webhooks: [{name: a.example.com, admissionReviewVersions: [v1], sideEffects: None,
    clientConfig: {service: {namespace: shop, name: hook}}}]}`,
}

func TestCausesInARealCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	g := NewWithT(t)
	ctx := t.Context()
	kube := testcluster.StartFor(t, testcluster.Options{Nodes: 1})
	connect := func(user string) *cluster.Cluster {
		flags := genericclioptions.NewConfigFlags(true)
		flags.KubeConfig, flags.CacheDir, flags.Impersonate = new(kube.Kubeconfig()), new(t.TempDir()), &user
		c, err := cluster.Connect(cluster.Configure(flags))
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	admin, stranger := connect(""), connect("stranger")
	for _, text := range broken {
		obj := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(text), obj)).To(Succeed())
		g.Expect(client.IgnoreAlreadyExists(admin.Create(ctx, obj))).To(Succeed(), text)
	}

	for dependent, want := range map[string]string{
		"Job.batch shop/migrate":   `^Job.batch shop/migrate: FailedCreate: .*serviceaccount "absent" not found`,
		"Deployment.apps full/web": `^ReplicaSet.apps full/web-\w+: FailedCreate: .*exceeded quota: none`,
		"Deployment.apps " +
			"shop/nowhere": `^Pod shop/nowhere-\w+-\w+: Unschedulable: .*node affinity/selector`,
		"PersistentVolumeClaim shop/data":                                    `^PersistentVolumeClaim shop/data: StorageClassNotFound: storage class "fast" does not exist`,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io checks": `^Service shop/hook: NoReadyEndpoints`,
	} {
		status := metav1alpha1.Status{Waiting: []metav1alpha1.DependentReport{{Dependent: dependent, Reason: "InProgress"}}}
		first := func(ctx context.Context, c *cluster.Cluster) string {
			for _, cause := range dependentcauses.OfStatus(ctx, c, status)[dependent] {
				return cause.String()
			}
			return ""
		}
		g.Eventually(first).WithArguments(ctx, admin).WithTimeout(30 * time.Second).Should(MatchRegexp(want))
		g.Expect(first(ctx, stranger)).To(BeEmpty(), "a person who may not read the objects got causes")
		status.Waiting[0].Reason = "NotGone"
		g.Expect(dependentcauses.OfStatus(ctx, admin, status)).To(BeEmpty(), "got causes of an object that is being deleted")
		status.Waiting[0].Reason, status.TargetCluster = "InProgress", "another"
		g.Expect(dependentcauses.OfStatus(ctx, admin, status)).To(BeEmpty(), "got causes of dependents in another cluster")
	}
}
