package boottest

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// testAggregation serves an API on the loopback address. The Service is of type ExternalName, because endpoints must
// not be loopback addresses.
func testAggregation(t *testing.T, config *rest.Config) {
	ctx := t.Context()
	var remoteUser atomic.Value
	backend := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "front-proxy-client" {
			remoteUser.Store(r.Header.Get("X-Remote-User"))
		}
		writeJSON(t, w, metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
			GroupVersion: "harbour.example.com/v1",
		})
	}))
	backend.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	backend.StartTLS()
	defer backend.Close()

	client := newClient(t, config)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "harbour"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if _, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apiServices := dynamicClient.Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1",
		Resource: "apiservices",
	})
	apiService := newAPIService("harbour.example.com", "v1", portOf(t, backend))
	if _, err := apiServices.Create(ctx, apiService, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the aggregated API is served", func() bool {
		err := client.Discovery().RESTClient().Get().AbsPath("/apis/harbour.example.com/v1").Do(ctx).Error()
		return err == nil && remoteUser.Load() == "admin"
	})
	if err := apiServices.Delete(ctx, apiService.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func newAPIService(group, version string, port int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": version + "." + group},
		"spec": map[string]any{
			"group":                 group,
			"version":               version,
			"groupPriorityMinimum":  int64(1000),
			"versionPriority":       int64(10),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": "default", "name": "harbour", "port": port},
		},
	}}
}

func testWebhook(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID:    review.Request.UID,
			Result: &metav1.Status{Message: "no stowaways"},
		}
		writeJSON(t, w, review)
	}))
	defer backend.Close()

	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "stowaways"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "stowaways.example.com",
			AdmissionReviewVersions: []string{"v1"},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"stowaway": "true"}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &backend.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: backend.Certificate().Raw}),
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
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stowaway := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "stowaway-",
		Labels:       map[string]string{"stowaway": "true"},
	}}
	eventually(t, "the webhook refuses an object", func() bool {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, stowaway, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "no stowaways")
	})
}

func newJob(name string, template corev1.PodTemplateSpec) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: template}}
}

func portOf(t *testing.T, server *httptest.Server) int64 {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func writeJSON(t *testing.T, w http.ResponseWriter, value any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		t.Error(err)
	}
}
