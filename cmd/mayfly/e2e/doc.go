// Package e2e tests the whole program: its commands, servers in processes of their own, browsers
// and SDKs, and the commands in README and the documentation. It has nothing but tests, which
// see of the program only what its users and its flags can reach.
package e2e
