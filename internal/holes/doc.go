// Package holes finds and fills the holes of manifests: CEL expressions over exported values in texts, ${{ dbHost }}.
//
// It parses texts into parts (Map), gives the parts their values (Fill), and says where a text is in its manifest
// (Place): a text in the data of a Secret is encoded, and some fields permit only texts. A value of a Secret, and the
// text of a Secret, is in no error.
//
// The package is pure. It knows JSON and internal/expression, and neither objects nor settings: pkg/manifests decides
// which manifests have holes, and which values they may use.
package holes
