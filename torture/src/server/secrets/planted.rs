//! The kinds of secrets, how each is planted in a command line, and the shapes in which it may come out again.

use crate::harness::dice::Dice;

/// How a secret gets into a command line; `{}` stands for it.
pub(super) const PLANTS: &[&str] = &[
    "--api-key {}",
    "--token={}",
    "--password {}",
    "--client-secret={}",
    "OPENAI_API_KEY={}",
    "GITHUB_TOKEN={}",
    "sk-ant-{}",
    "ghp_{}",
    "github_pat_{}",
    "glpat-{}",
    "xoxb-{}",
    "hf_{}",
    "npm_{}",
    "dckr_pat_{}",
    "ya29.{}",
    "GOCSPX-{}",
    "hvs.{}",
    "nfp_{}",
    "postgres://db/shop?password={}",
    "whsec_{}",
    "cb_adm_{}",
    "cb_run_{}",
    "eyJhbGciOiJIUzI1NiJ9.{}",
    "https://ann:{}@example.org/repo.git",
    "postgres://ann:{}@db/shop",
    "https://example.org/hook?name=x&access_token={}",
    "Authorization:_Bearer_{}",
    "X-Api-Key:_{}",
    "-u ann:{}",
    "said",
];

pub(super) struct Secret {
    pub(super) plant: &'static str,
    pub(super) value: String,
}

/// A value that is there by no accident.
pub(super) fn value(dice: &mut Dice, length: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    (0..length).map(|_| char::from(*dice.pick(LETTERS))).collect()
}

impl Secret {
    pub(super) fn new(plant: &'static str, dice: &mut Dice) -> Self {
        Self { plant, value: value(dice, 36) }
    }

    /// A command with the secret in it that fails, so that somebody is told of it; one says the secret before it fails.
    pub(super) fn argv(&self) -> Vec<String> {
        let script = if self.plant == "said" {
            format!("echo the key is sk-{0} >&2; echo {1} sk-{0} >&2; exit 1", self.value, "word ".repeat(60))
        } else {
            "exit 1".to_owned()
        };
        // Nobody says a secret by an argument here: the words of the script are the words of the command.
        let script = if self.plant == "said" { script.replace(&self.value, "$SOME_API_KEY") } else { script };
        let mut argv = vec!["sh".to_owned(), "-c".to_owned(), script, "agent".to_owned()];
        if self.plant != "said" {
            let words = self.plant.replace("{}", &self.value);
            // An underscore in a plant is a space inside of one word, after a colon or a scheme.
            let spaced = words.replace(":_", ": ").replace("Bearer_", "Bearer ");
            match spaced.starts_with('-') {
                true => argv.extend(spaced.splitn(2, ' ').map(str::to_owned)),
                false => argv.push(spaced),
            }
        }
        argv
    }

    /// As it is, the end of it, and as an address has it.
    pub(super) fn shapes(&self) -> Vec<String> {
        let spread: String = self.value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        vec![self.value.clone(), self.value[self.value.len() / 2..].to_owned(), spread]
    }
}
