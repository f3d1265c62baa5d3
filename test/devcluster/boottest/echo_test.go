package boottest

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/pki"
)

// The Service "harbour" has a Deployment, which mounts a certificate for it.
func TestWebhooksAndAPIServicesOfFakePodsAnswer(t *testing.T) {
	cluster := up(t, "--nodes", "1", "--echo")
	config := loadConfig(t, cluster.dir+"/kubeconfig")
	client := newClient(t, config)
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := pki.NewAuthority("harbour")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Server("harbour", "harbour.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	createHarbour(t, client, certificate)
	create := func() error {
		_, err := client.CoreV1().ConfigMaps("default").
			Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "crate-"}}, metav1.CreateOptions{})
		return err
	}

	admits := func(t *testing.T, bundle []byte) {
		t.Helper()
		webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		if _, err := webhooks.Create(t.Context(), harbourWebhook(bundle), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		setReplicas(t, client, 0)
		eventually(t, "the webhook refuses, because no pod is ready", func() bool {
			err := create()
			return err != nil && strings.Contains(err.Error(), "harbour.example.com")
		})
		setReplicas(t, client, 1)
		eventually(t, "the webhook admits", func() bool { return create() == nil })
		if err := webhooks.Delete(t.Context(), "harbour", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("a webhook with the authority of the mounted certificate", func(t *testing.T) {
		admits(t,
			authority.Certificate)
	})
	t.Run("a webhook without an authority, whose pod has no certificate", func(t *testing.T) {
		if err := client.CoreV1().Secrets("default").Delete(t.Context(), "harbour", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		admits(t, nil)
	})
	t.Run("an APIService gets Available, and its API has no types", func(t *testing.T) {
		resource := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
		apiServices := dynamicClient.Resource(resource)
		if _, err := apiServices.Create(t.Context(), newAPIService("harbour.example.com", "v1", 443),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is Available", func() bool {
			live, err := apiServices.Get(t.Context(), "v1.harbour.example.com", metav1.GetOptions{})
			return err == nil && isAvailable(live)
		})
		served, err := client.Discovery().ServerResourcesForGroupVersion("harbour.example.com/v1")
		if err != nil || len(served.APIResources) > 0 {
			t.Errorf("want no types, got %v, %v", served, err)
		}
	})
}

func createHarbour(t *testing.T, client kubernetes.Interface, certificate pki.Pair) {
	t.Helper()
	ctx, labels := t.Context(), map[string]string{"app": "harbour"}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "harbour"},
		Data:       map[string][]byte{"cert.pem": certificate.Certificate, "key.pem": certificate.Key},
	}
	if _, err := client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "harbour"},
		Spec: corev1.ServiceSpec{
			Selector: labels,
			Ports:    []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}},
		},
	}
	if _, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	none := int64(0)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "harbour"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &none,
					Containers:                    []corev1.Container{{Name: "harbour", Image: "harbour"}},
					Volumes: []corev1.Volume{{
						Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "harbour"}},
					}},
				},
			},
		},
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func setReplicas(t *testing.T, client kubernetes.Interface, count int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, count)
	_, err := client.AppsV1().Deployments("default").Patch(t.Context(), "harbour", types.MergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// harbourWebhook is a webhook for ConfigMaps of the namespace default, with a bundle of authorities or without.
func harbourWebhook(bundle []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "harbour"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "harbour.example.com", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service:  &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "harbour"},
				CABundle: bundle,
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"},
				},
			}},
		}},
	}
}

func isAvailable(apiService *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(apiService.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Available" {
			return condition["status"] == "True"
		}
	}
	return false
}
