package templating

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"reflect"
	"sync"
	"text/template"
)

// trialKeyBits is the size of the key of trials: small, because nothing is signed for anybody.
const trialKeyBits = 1024

// trialKey returns an RSA key as PEM. All trials of a process share it, and nothing else uses it, so that it differs
// from the keys of all other renderings.
var trialKey = sync.OnceValues(func() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, trialKeyBits)
	if err != nil {
		return "", err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return string(pem.EncodeToMemory(block)), nil
})

// keys are the template functions that make keys.
type keys struct{ in *Input }

// functions returns the functions that make keys. In a trial they use one cheap key, because the generation of RSA
// keys takes most of the time of a rendering with certificates.
func (k keys) functions() template.FuncMap {
	functions := around(func(generate func(string) string) any {
		return func(kind string) (string, error) {
			if k.in.Request.Trial && (kind == "" || kind == "rsa") {
				return trialKey()
			}
			return generate(kind), nil
		}
	}, "genPrivateKey")
	for _, name := range []string{"genCA", "genSelfSignedCert", "genSignedCert"} {
		functions[name] = k.cheapInTrials(sprigFunctions[name], sprigFunctions[name+"WithKey"])
	}
	return functions
}

// cheapInTrials returns a function that calls function, and in a trial withKey, whose last parameter is a key.
// Otherwise both have the same parameters and results, the last of which is an error.
func (k keys) cheapInTrials(function, withKey any) any {
	plain := reflect.ValueOf(function)
	return reflect.MakeFunc(plain.Type(), func(in []reflect.Value) []reflect.Value {
		if !k.in.Request.Trial {
			return plain.Call(in)
		}
		key, err := trialKey()
		if err != nil {
			return plain.Call(in)
		}
		return reflect.ValueOf(withKey).Call(append(in, reflect.ValueOf(key)))
	}).Interface()
}
