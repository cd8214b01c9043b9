package rabbitmqstore

const roleEnv = "RABBITMQSTORE_TEST_ROLE"

func playRole(string) error { return nil }
