//go:build long

package faults_test

// defaultSeeds is the number of seeds in a long run.
const defaultSeeds = 300
