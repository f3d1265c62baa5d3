// Package pki creates the certificates of a dev cluster: authorities, and the client and server certificates that they
// sign.
package pki
