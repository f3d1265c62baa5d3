package target

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"
)

// Operator is who the operator is in the cluster of its components. An empty field is not known.
type Operator struct {
	// User is the user as whom the operator acts. Namespace is the namespace of its pod, and Deployment the Deployment
	// that the pod belongs to.
	User, Namespace, Deployment string
}

// OperatorOf returns who the operator with a configuration is, as far as the configuration says so without a request:
// by the user that it impersonates, by the claims of its service account token, or by the name in its certificate. The
// claims are not verified, because the API server does that. They never leave the process.
func OperatorOf(config *rest.Config) Operator {
	if user := config.Impersonate.UserName; user != "" {
		return Operator{User: user}
	}
	token := config.BearerToken
	if config.BearerTokenFile != "" {
		if data, err := os.ReadFile(config.BearerTokenFile); err == nil {
			token = strings.TrimSpace(string(data))
		}
	}
	if token != "" {
		return operatorOfToken(token)
	}
	return Operator{User: nameInCertificate(config.TLSClientConfig)}
}

// operatorOfToken returns the operator with a service account token, and an empty one for other tokens.
func operatorOfToken(token string) Operator {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Operator{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Operator{}
	}
	var claims struct {
		Subject    string `json:"sub"`
		Kubernetes struct {
			Namespace string                `json:"namespace"`
			Pod       struct{ Name string } `json:"pod"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return Operator{}
	}
	if !strings.HasPrefix(claims.Subject, "system:serviceaccount:") {
		return Operator{}
	}
	operator := Operator{User: claims.Subject}
	if pod := claims.Kubernetes.Pod.Name; pod != "" {
		operator.Namespace, operator.Deployment = claims.Kubernetes.Namespace, deploymentOf(pod)
	}
	return operator
}

// ofDeployment matches the names of the pods of Deployments. Kubernetes makes the two last parts of letters that form
// no words.
var ofDeployment = regexp.MustCompile("^(.+)-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$")

// deploymentOf returns the name of the Deployment of the pod with the given name, or an empty text if the pod belongs
// to no Deployment.
func deploymentOf(pod string) string {
	if match := ofDeployment.FindStringSubmatch(pod); match != nil {
		return match[1]
	}
	return ""
}

// nameInCertificate returns the user that a client certificate is for, and an empty text if there is none.
func nameInCertificate(tls rest.TLSClientConfig) string {
	data := tls.CertData
	if len(data) == 0 && tls.CertFile != "" {
		data, _ = os.ReadFile(tls.CertFile)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return ""
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	return certificate.Subject.CommonName
}
