// Package users reads the file of people who may sign in. Each line is a user:
//
//	name:role:hash
//
// The role is viewer, operator or admin; the hash is of the password, by argon2id
// ($argon2id$v=19$m=…,t=…,p=…$salt$hash) or bcrypt ($2a$…, $2b$…, $2y$…), as `mayfly users
// hash` and htpasswd -B write it. Empty lines, and those that begin with #, are ignored.
//
// Hashes that would take much memory or time are refused when the file is read, before any is
// computed.
package users
