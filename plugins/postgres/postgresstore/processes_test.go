package postgresstore

const roleEnv = "POSTGRESSTORE_TEST_ROLE"

func play(string) int { return 1 }
