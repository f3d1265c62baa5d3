//go:build !long

package faults_test

// defaultSeeds is the number of seeds in a normal run.
const defaultSeeds = 15
