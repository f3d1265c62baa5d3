package tenancy_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// keep creates a Secret as mallory.
func keep(ctx context.Context, namespace, name, key, content string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: named(namespace, name), Data: map[string][]byte{key: []byte(content)}}
	Expect(mallory.Create(ctx, secret)).To(Succeed())
}

// doublingSchema returns a schema whose definitions refer to the next definition twice.
func doublingSchema(levels int) string {
	var text strings.Builder
	text.WriteString(`{"$ref": "#/definitions/d0", "definitions": {`)
	for i := range levels {
		fmt.Fprintf(&text, `"d%d": {"anyOf": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&text, `"d%d": {"type": "string"}}}`, levels)
	return text.String()
}

// mergeData returns a merge patch for a value of a Secret.
func mergeData(key string, value []byte) []byte {
	return fmt.Appendf(nil, `{"data":{%q:%q}}`, key, base64.StdEncoding.EncodeToString(value))
}

// format returns an object as JSON.
func format(object any) string {
	GinkgoHelper()
	text, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
